// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/page/gate"
)

// asks sends a request, and returns the status and the token of the answer.
func asks(t *testing.T, h http.Handler, method, path, authorization, body string) (status int, token string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var answer struct{ Token string }
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	if len(w.Result().Cookies()) > 0 {
		t.Error("there is a cookie: each server of this host would be sent it")
	}
	return w.Code, answer.Token
}

func TestACodeOpensOneWindow(t *testing.T) {
	t.Parallel()
	s, code := gate.NewSessions()
	var codes []string
	s.Opened = func(next string) { codes = append(codes, next) }
	h := s.Require(http.HandlerFunc(ok))
	exchange := func(code string) (int, string) {
		t.Helper()
		return asks(t, h, http.MethodPost, gate.PathSession, "", `{"code":"`+code+`"}`)
	}
	for name, tt := range map[string]struct {
		method, body string
		want         int
	}{
		"another code": {http.MethodPost, `{"code":"ABC"}`, http.StatusUnauthorized}, "no code": {http.MethodPost, `{}`, http.StatusUnauthorized},
		"no JSON": {http.MethodPost, `code`, http.StatusBadRequest}, "too much": {http.MethodPost, `{"code":"` + strings.Repeat("x", 1000) + `"}`, http.StatusBadRequest},
		"another method": {http.MethodGet, "", http.StatusMethodNotAllowed},
	} {
		if status, token := asks(t, h, tt.method, gate.PathSession, "", tt.body); status != tt.want || token != "" {
			t.Errorf("%s: %d, token %q; want %d", name, status, token, tt.want)
		}
	}
	status, token := exchange(code)
	if status != http.StatusOK || len(token) < 40 || len(codes) != 1 || codes[0] == code {
		t.Fatalf("%d, token %q, codes %q", status, token, codes)
	}
	if status, again := exchange(code); status != http.StatusUnauthorized || again != "" {
		t.Errorf("a code that was used opens another window: %d", status)
	}
	if status, other := exchange(codes[0]); status != http.StatusOK || other == token {
		t.Errorf("the next code opens no window of its own: %d", status)
	}
	const bearer = "Bearer "
	for authorization, want := range map[string]int{
		bearer + token: http.StatusTeapot, "": http.StatusUnauthorized, bearer: http.StatusUnauthorized, bearer + code: http.StatusUnauthorized,
		"Basic " + token: http.StatusUnauthorized, bearer + token + "x": http.StatusUnauthorized,
	} {
		if got, _ := asks(t, h, http.MethodGet, "/api/inbox", authorization, ""); got != want {
			t.Errorf("%q: %d, want %d", authorization, got, want)
		}
	}
	// The files of the page tell nothing, and a window needs them before it has a token.
	if got, _ := asks(t, h, http.MethodGet, "/page.js", "", ""); got != http.StatusTeapot {
		t.Errorf("a file of the page: %d", got)
	}
}

func TestOpenWindowsAreBounded(t *testing.T) {
	t.Parallel()
	s, code := gate.NewSessions()
	s.Opened = func(next string) { code = next }
	h := s.Require(http.HandlerFunc(ok))
	var tokens []string
	for range 40 {
		_, token := asks(t, h, http.MethodPost, gate.PathSession, "", `{"code":"`+code+`"}`)
		tokens = append(tokens, token)
	}
	open := 0
	for _, token := range tokens {
		if got, _ := asks(t, h, http.MethodGet, "/api/inbox", "Bearer "+token, ""); got == http.StatusTeapot {
			open++
		}
	}
	if newest, _ := asks(t, h, http.MethodGet, "/api/inbox", "Bearer "+tokens[39], ""); newest != http.StatusTeapot || open != 16 {
		t.Errorf("%d windows are open, the newest has %d", open, newest)
	}
}
