// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"motorcortex.dev/motorcortex/internal/serving/connlimit"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// served is a server that takes the token "right".
func served(t *testing.T, change ...func(*httptest.Server)) *httptest.Server {
	t.Helper()
	client, err := motor.NewFor(motor.Clients{Motor: fake.NewSimpleClientset()}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	one := New(t.Context(), client, false, Bounds{})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		switch token {
		case "right":
		case "later":
			return nil, errors.New("it cannot be looked at")
		default:
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "a"}, nil
	}
	s := httptest.NewUnstartedServer(Handler(verify, func(http.ResponseWriter, *http.Request) *Server { return one }))
	for _, change := range change {
		change(s)
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// A program whose token was taken keeps its connection, however many strangers come after it.
func TestAProgramKeepsItsConnectionWhileStrangersCome(t *testing.T) {
	t.Parallel()
	s := served(t, func(s *httptest.Server) {
		bounded := connlimit.New(s.Listener, 2)
		bounded.Watch(s.Config)
		s.Listener = bounded
	})
	var dials atomic.Int32
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	asks := func() {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer right",
		} {
			r.Header.Set(name, value)
		}
		answer, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatal(answer.Status)
		}
	}
	asks()
	for n := range 8 {
		stranger := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+n))}}).DialContext}
		t.Cleanup(stranger.CloseIdleConnections)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: stranger}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	asks()
	if n := dials.Load(); n != 1 {
		t.Errorf("the program has dialed %d times", n)
	}
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
		"one for later":    {initialize, func(r *http.Request) { r.Header.Set("Authorization", "Bearer later") }, http.StatusServiceUnavailable},
		"no bearer token":  {initialize, func(r *http.Request) { r.Header.Set("Authorization", "Basic later") }, http.StatusUnauthorized},
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

// A token that cannot be looked at now is no failure of the server, and none of the token: the program sends it again.
func TestAProgramIsToldWhenToSendItsTokenAgain(t *testing.T) {
	t.Parallel()
	h := verified(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return nil, errors.New("too many tokens")
	}, http.NotFoundHandler())
	w := ask(t, h, "a", initialize)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "too many tokens") {
		t.Errorf("status %d, %v: %s", w.Code, w.Header(), w.Body)
	}
}
