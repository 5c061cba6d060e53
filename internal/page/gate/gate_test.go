// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/page/gate"
)

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }

// Only the page itself gets through: no name that leads to this address, and no page of another origin.
func TestOnlyThePageItselfGetsThrough(t *testing.T) {
	t.Parallel()
	h := gate.SameOrigin([]string{"http://127.0.0.1:8080", "http://localhost:8080"}, http.HandlerFunc(ok))
	for name, tt := range map[string]struct {
		method, host, origin, site, mode string
		want                             int
	}{
		"a person opens it":                    {"GET", "127.0.0.1:8080", "", "none", "navigate", http.StatusTeapot},
		"by its other name":                    {"GET", "localhost:8080", "", "none", "navigate", http.StatusTeapot},
		"a link leads to it":                   {"GET", "127.0.0.1:8080", "", "cross-site", "navigate", http.StatusTeapot},
		"its script reads":                     {"GET", "127.0.0.1:8080", "", "same-origin", "cors", http.StatusTeapot},
		"its script sends":                     {"POST", "127.0.0.1:8080", "http://127.0.0.1:8080", "same-origin", "cors", http.StatusTeapot},
		"a browser of before reads":            {"GET", "127.0.0.1:8080", "", "", "", http.StatusTeapot},
		"a name that was let point here":       {"GET", "evil.example.com:8080", "", "none", "navigate", http.StatusForbidden},
		"a name that begins like it":           {"GET", "127.0.0.1:8080.evil.example.com", "", "", "", http.StatusForbidden},
		"another port":                         {"GET", "127.0.0.1:8081", "", "", "", http.StatusForbidden},
		"no port":                              {"GET", "127.0.0.1", "", "", "", http.StatusForbidden},
		"no name":                              {"GET", "", "", "", "", http.StatusForbidden},
		"a foreign page reads":                 {"GET", "127.0.0.1:8080", "https://evil.example.com", "cross-site", "cors", http.StatusForbidden},
		"a foreign page embeds":                {"GET", "127.0.0.1:8080", "", "cross-site", "no-cors", http.StatusForbidden},
		"another port of this host reads":      {"GET", "127.0.0.1:8080", "", "same-site", "no-cors", http.StatusForbidden},
		"a foreign form":                       {"POST", "127.0.0.1:8080", "https://evil.example.com", "cross-site", "navigate", http.StatusForbidden},
		"a foreign form of an old browser":     {"POST", "127.0.0.1:8080", "null", "", "", http.StatusForbidden},
		"a form that does not say where from":  {"POST", "127.0.0.1:8080", "", "", "", http.StatusForbidden},
		"one name sends to the other":          {"POST", "127.0.0.1:8080", "http://localhost:8080", "", "", http.StatusForbidden},
		"the same host by another scheme":      {"POST", "127.0.0.1:8080", "https://127.0.0.1:8080", "", "", http.StatusForbidden},
		"a foreign page deletes":               {"DELETE", "127.0.0.1:8080", "https://evil.example.com", "cross-site", "cors", http.StatusForbidden},
		"it says that it is the page, and not": {"POST", "127.0.0.1:8080", "http://127.0.0.1:8080", "cross-site", "cors", http.StatusForbidden},
	} {
		r := httptest.NewRequest(tt.method, "/api/inbox", nil)
		r.Host = tt.host
		for key, value := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site, "Sec-Fetch-Mode": tt.mode} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d", name, w.Code, tt.want)
		}
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	gate.Headers(gate.SameOrigin(nil, http.HandlerFunc(ok))).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusForbidden {
		t.Fatalf("%d", w.Code)
	}
	for key, want := range map[string]string{
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := w.Header().Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	csp := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(csp, part) {
			t.Errorf("the policy does not have %q: %s", part, csp)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "http:") || strings.Contains(csp, "*") {
		t.Errorf("the policy allows more than the page's own files: %s", csp)
	}
}
