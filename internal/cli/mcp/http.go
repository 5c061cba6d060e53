// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

const (
	// path is where the server is.
	path = "/mcp"
	// maxSessions is the most sessions at once, and maxRequests the most requests: a session has a stream that stays open.
	maxSessions, maxRequests = 64, 256
	// sessionIdle is how long a session stays without a request.
	sessionIdle = 30 * time.Minute
	// headerTime is how long the header of a request may take, and maxHeader its most bytes.
	headerTime, maxHeader = 10 * time.Second, 64 << 10
)

// serveHTTP serves programs of this machine until the context ends. Who has the token has the rights of the account.
func serveHTTP(ctx context.Context, s verb.Streams, address string, client *motor.Client, consent bool) error {
	if err := local(address); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", address, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	token := rand.Text()
	server := newServer(ctx, client, consent)
	fmt.Fprintf(s.Out, "url:   http://%s%s\ntoken: %s\n", listener.Addr(), path, token)
	fmt.Fprintln(s.Err, "Send the token as \"Authorization: Bearer …\". Who has it acts with your rights.")
	h := &http.Server{
		Handler: handler(server, token), ReadHeaderTimeout: headerTime, MaxHeaderBytes: maxHeader, IdleTimeout: sessionIdle,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() }) // Streams stay open for ever: they are not waited for.
	defer stop()
	err = h.Serve(listener)
	cancel()
	for session := range server.Sessions() {
		_ = session.Close() // It ends with the program.
	}
	server.watches.wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// local returns an error for an address that other machines can reach: the token would go over the network unencrypted.
func local(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return verb.Misusedf("--listen %s is no address, as in 127.0.0.1:8808: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return verb.Misusedf("--listen %s is not of the loopback: only programs of this machine are served, as at 127.0.0.1:8808", address)
}

// handler serves the sessions of a server to who has the token.
func handler(server *server, token string) http.Handler {
	sessions := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server.Server }, &mcp.StreamableHTTPOptions{
		SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxMessage,
	})
	verify := func(_ context.Context, given string, _ *http.Request) (*auth.TokenInfo, error) {
		if subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "local"}, nil
	}
	mux := http.NewServeMux()
	mux.Handle(path, fewSessions(server, auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(sessions)))
	return fewRequests(sameOrigin(mux))
}

// sameOrigin refuses requests that a page of another origin has a browser send. The SDK refuses those that a name of another host leads to this one.
func sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
				http.Error(w, "the origin of the page is not that of this server", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// fewRequests bounds the requests at once.
func fewRequests(next http.Handler) http.Handler {
	free := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			next.ServeHTTP(w, r)
		default:
			busy(w, "requests")
		}
	})
}

// fewSessions bounds the sessions at once. Requests of a session that exists are served.
func fewSessions(server *server, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" {
			n := 0
			for range server.Sessions() {
				n++
			}
			if n >= maxSessions {
				busy(w, "sessions")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func busy(w http.ResponseWriter, of string) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "too many "+of+" at once: try again later", http.StatusServiceUnavailable)
}
