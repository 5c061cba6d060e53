// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// aClient is of a cluster without runs.
func aClient(t *testing.T) *motor.Client {
	t.Helper()
	c, err := motor.NewFor(motor.Clients{Motor: fake.NewSimpleClientset()}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOnlyTheLoopbackIsListenedAt(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:0": true, "localhost:8808": true, "[::1]:8808": true, "127.9.9.9:1": true,
		":8808": false, "0.0.0.0:8808": false, "[::]:8808": false, "10.0.0.1:8808": false, "example.org:8808": false, "127.0.0.1": false, "": false,
	} {
		if err := local(address); (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// A program with the token is served, and everything ends with the verb.
func TestServeHTTP(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, printed := io.Pipe()
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- serveHTTP(serving, verb.Streams{Out: printed, Err: io.Discard}, "127.0.0.1:0", aClient(t), false)
	}()
	var url, token string
	if _, err := fmt.Fscanf(out, "url:   %s\ntoken: %s\n", &url, &token); err != nil || len(token) < 20 {
		t.Fatalf("%v, a token of %d", err, len(token))
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: motor.ToolTask, Arguments: map[string]any{"action": "list"}})
	if err != nil || result.IsError || result.Content[0].(*mcp.TextContent).Text != `{"runs":[],"total":0}` {
		t.Errorf("%+v, %v", result, err)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("the verb goes on without an end")
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// post sends an initialization, changed, and returns the status of the answer.
func post(t *testing.T, url, body string, change func(*http.Request)) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body))
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
	s := httptest.NewServer(handler(newServer(t.Context(), aClient(t), false), "right"))
	t.Cleanup(s.Close)
	long := strings.Repeat(" ", maxMessage) + initialize
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
	s := httptest.NewServer(handler(newServer(t.Context(), aClient(t), false), "right"))
	t.Cleanup(s.Close)
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
	for range maxRequests {
		go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		<-held
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("one more: status %d", w.Code)
	}
	close(hold)
}
