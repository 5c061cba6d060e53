// SPDX-License-Identifier: Apache-2.0

package pageserver

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/internal/pageserver/oidc"
)

// Persons share a watch only if they have the same name from the same issuer, and the same groups.
func TestWhichPersonsAreTheSame(t *testing.T) {
	t.Parallel()
	keys := map[string]string{}
	for name, s := range map[string]oidc.Session{
		"dana":               {Issuer: "a", User: "dana"},
		"with a group":       {Issuer: "a", User: "dana", Groups: []string{"g"}},
		"with two":           {Issuer: "a", User: "dana", Groups: []string{"g", "h"}},
		"with one like two":  {Issuer: "a", User: "dana", Groups: []string{"g,h"}},
		"of another issuer":  {Issuer: "b", User: "dana"},
		"with another name":  {Issuer: "a", User: "dan", Groups: []string{"a"}},
		"with a moved quote": {Issuer: "a", User: `dana",["g"]`},
	} {
		key, err := keyOf(&s)
		if other := keys[key]; err != nil || other != "" {
			t.Errorf("%s is %s, %v", name, other, err)
		}
		keys[key] = name
	}
	one, _ := keyOf(&oidc.Session{ID: "1", Issuer: "a", User: "dana", Expires: time.Unix(1, 0)})
	two, _ := keyOf(&oidc.Session{ID: "2", Issuer: "a", User: "dana", Expires: time.Unix(2, 0)})
	if one != two {
		t.Error("two sessions of one person share nothing")
	}
}

func newServer(t *testing.T, change ...func(*oidc.Options)) *Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := oidc.Options{
		Issuer: "https://127.0.0.1:1", ClientID: "page", URL: "https://motor.example.org", KeyFiles: []string{file}, Life: time.Hour, Names: oidc.Names{UserClaim: "sub"},
	}
	for _, c := range change {
		c(&o)
	}
	s, err := New(&rest.Config{Host: "127.0.0.1:1"}, Options{Windows: 1, Login: o}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A browser that comes back from the issuer gets through to the callback, and a foreign page to nothing else.
func TestWhoGetsThrough(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for name, tt := range map[string]struct {
		method, path, host, origin, site, mode string
		want                                   int
	}{
		"the page":                           {http.MethodGet, "/", "", "", "none", "navigate", http.StatusOK},
		"an answer of the issuer":            {http.MethodGet, oidc.PathCallback, "", "", "cross-site", "navigate", http.StatusBadRequest},
		"a request without a session":        {http.MethodGet, "/api/inbox", "", "", "same-origin", "cors", http.StatusUnauthorized},
		"another name of the host":           {http.MethodGet, "/", "evil.example.org", "", "", "", http.StatusForbidden},
		"a callback by another name":         {http.MethodGet, oidc.PathCallback, "evil.example.org", "", "", "", http.StatusForbidden},
		"a foreign page that asks":           {http.MethodGet, "/api/inbox", "", "", "cross-site", "no-cors", http.StatusForbidden},
		"a foreign page that logs out":       {http.MethodPost, oidc.PathLogout, "", "https://evil.example.org", "cross-site", "cors", http.StatusForbidden},
		"a logout without an origin":         {http.MethodPost, oidc.PathLogout, "", "", "", "", http.StatusForbidden},
		"a logout that is no POST":           {http.MethodGet, oidc.PathLogout, "", "", "", "", http.StatusNotFound},
		"a logout of the page":               {http.MethodPost, oidc.PathLogout, "", "https://motor.example.org", "same-origin", "cors", http.StatusOK},
		"a login while the issuer is silent": {http.MethodGet, oidc.PathLogin, "", "", "none", "navigate", http.StatusBadGateway},
	} {
		r := httptest.NewRequest(tt.method, "https://motor.example.org"+tt.path, http.NoBody)
		if tt.host != "" {
			r.Host = tt.host
		}
		for header, value := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site, "Sec-Fetch-Mode": tt.mode} {
			if value != "" {
				r.Header.Set(header, value)
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != tt.want || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, tt.want, w.Body)
		}
	}
}

// A request that is of no person is none of the server's own.
func TestARequestOfNoPersonHasNoClient(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	if p, err := s.access(httptest.NewRequest(http.MethodGet, "/api/me", http.NoBody)); err == nil {
		t.Errorf("%+v", p)
	}
}
