// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// served is a server that takes the token "right".
func served(t *testing.T) *httptest.Server {
	t.Helper()
	client, err := motor.NewFor(motor.Clients{Motor: fake.NewSimpleClientset()}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	one := New(t.Context(), client, false, nil)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if token != "right" {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "a"}, nil
	}
	s := httptest.NewServer(Handler(verify, func(http.ResponseWriter, *http.Request) *Server { return one }))
	t.Cleanup(s.Close)
	return s
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// post sends an initialization, changed, and returns the status of the answer.
func post(t *testing.T, url, body string, change func(*http.Request)) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer right")
	change(r)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

func TestWhoIsServed(t *testing.T) {
	t.Parallel()
	s := served(t)
	long := strings.Repeat(" ", MaxMessage) + initialize
	for name, tt := range map[string]struct {
		body   string
		change func(*http.Request)
		want   int
	}{
		"the token":        {initialize, func(*http.Request) {}, http.StatusOK},
		"its own origin":   {initialize, func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }, http.StatusOK},
		"no token":         {initialize, func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"another token":    {initialize, func(r *http.Request) { r.Header.Set("Authorization", "Bearer righ") }, http.StatusUnauthorized},
		"another origin":   {initialize, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.org") }, http.StatusForbidden},
		"no origin at all": {initialize, func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		"a rebound name":   {initialize, func(r *http.Request) { r.Host = "evil.example.org" }, http.StatusForbidden},
		"a long message":   {long, func(*http.Request) {}, http.StatusRequestEntityTooLarge},
	} {
		if got := post(t, s.URL, tt.body, tt.change); got != tt.want {
			t.Errorf("%s: status %d, want %d", name, got, tt.want)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := served(t)
	for i := range maxSessions {
		if got := post(t, s.URL, initialize, func(*http.Request) {}); got != http.StatusOK {
			t.Fatalf("session %d: status %d", i, got)
		}
	}
	if got := post(t, s.URL, initialize, func(*http.Request) {}); got != http.StatusServiceUnavailable {
		t.Errorf("one more: status %d", got)
	}
}

// known serves requests whose token is the name of their account.
func known(next http.Handler) http.Handler {
	return auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

// ask sends a request of an account to a handler.
func ask(t *testing.T, h http.Handler, account, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+account)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// No account takes the requests of the others, and all together take no more than there are.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{})
	h := known(fewRequests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { held <- struct{}{}; <-hold })))
	begin := func(account string, count int) {
		for range count {
			go ask(t, h, account, "")
			<-held
		}
	}
	begin("a", requestsOf)
	if w := ask(t, h, "a", ""); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more of the account: status %d", w.Code)
	}
	for left, i := allRequests-requestsOf, 0; left > 0; left, i = left-requestsOf, i+1 {
		begin(fmt.Sprint("other-", i), min(left, requestsOf))
	}
	if w := ask(t, h, "z", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one more of all: status %d", w.Code)
	}
	close(hold)
}

// One account has one of the largest messages at once, and others still send theirs.
func TestLargeMessagesAreBounded(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	h := known(fewBytes(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if sharerOf(r) == "a" {
			held <- struct{}{}
			<-hold
		}
	})))
	large := strings.Repeat("x", largeOf)
	go ask(t, h, "a", large)
	<-held
	for _, tt := range []struct {
		account, body string
		want          int
	}{{"a", large[:small+1], http.StatusServiceUnavailable}, {"b", large, http.StatusOK}} {
		if w := ask(t, h, tt.account, tt.body); w.Code != tt.want {
			t.Errorf("%d bytes of %s: status %d", len(tt.body), tt.account, w.Code)
		}
	}
	close(hold)
}

// A batch would be hundreds of calls in one request. What is no batch comes through whole.
func TestBatchesAreRefused(t *testing.T) {
	t.Parallel()
	h := oneMessage(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	for _, tt := range []struct {
		body string
		want int
	}{
		{"[" + initialize + "]", http.StatusBadRequest}, {" \r\n\t[", http.StatusBadRequest}, {initialize, http.StatusOK}, {"", http.StatusOK},
	} {
		w := ask(t, h, "a", tt.body)
		if w.Code != tt.want || tt.want == http.StatusOK && w.Body.String() != tt.body {
			t.Errorf("%q: status %d, %s", tt.body, w.Code, w.Body)
		}
	}
}
