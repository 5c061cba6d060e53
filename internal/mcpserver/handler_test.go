// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
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
	one := New(t.Context(), client, false)
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

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{})
	h := fewRequests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { held <- struct{}{}; <-hold }))
	for range maxAll {
		go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		<-held
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more: status %d", w.Code)
	}
	close(hold)
}
