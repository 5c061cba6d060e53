// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"
)

const (
	// maxSessions is the most sessions of one server at once.
	maxSessions = 64
	// maxRequests is the most requests of one server at once: a session has a stream that stays open. maxAll is the most of all servers together.
	maxRequests, maxAll = 128, 1024
	// small is a message that needs no room of its own, and maxLarge the bytes of larger ones that are served at once: messages are read whole.
	small, maxLarge = 64 << 10, 4 * MaxMessage
	// SessionIdle is how long a session stays without a request.
	SessionIdle = 30 * time.Minute
	// headerTime is how long the header of a request may take, and maxHeader its most bytes.
	headerTime, maxHeader = 10 * time.Second, 64 << 10
	// messageTime is how long a message may take.
	messageTime = time.Minute
)

// Find returns the server that a request is for. A request that it returns none for is answered by it.
type Find func(w http.ResponseWriter, r *http.Request) *Server

// of is the key of the server that a request is for.
type of struct{}

// Handler serves the sessions of servers to programs whose token is valid. UserID of the token's information must tell accounts apart. A request goes to
// the server that find returns.
func Handler(verify auth.TokenVerifier, find Find) http.Handler {
	sessions := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		s, _ := r.Context().Value(of{}).(*Server)
		return s.Server
	}, &mcp.StreamableHTTPOptions{SessionTimeout: SessionIdle, MaxRequestBodyBytes: MaxMessage})
	found := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := find(w, r)
		if s == nil {
			return
		}
		if !s.begin() {
			Busy(w, "requests")
			return
		}
		defer s.end()
		if r.Header.Get("Mcp-Session-Id") == "" && s.sessionsNow() >= maxSessions {
			Busy(w, "sessions")
			return
		}
		sessions.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), of{}, s)))
	})
	return fewRequests(sameOrigin(auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(fewBytes(found))))
}

// HTTP is a server of a handler with bounds. Requests end with the context.
func HTTP(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, MaxHeaderBytes: maxHeader, IdleTimeout: SessionIdle,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
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
	free := make(chan struct{}, maxAll)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			next.ServeHTTP(w, r)
		default:
			Busy(w, "requests")
		}
	})
}

// fewBytes bounds the bytes of large messages, and the time in which a message comes. One without a length counts as one of the most bytes.
func fewBytes(next http.Handler) http.Handler {
	room := semaphore.NewWeighted(maxLarge)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 || size > MaxMessage {
			size = MaxMessage // A longer one is refused when so many bytes are read.
		}
		if size > small {
			if !room.TryAcquire(size) {
				Busy(w, "large messages")
				return
			}
			defer room.Release(size)
		}
		if size > 0 {
			conn := http.NewResponseController(w)
			if err := conn.SetReadDeadline(time.Now().Add(messageTime)); err == nil {
				r.Body = &timedBody{r.Body, conn}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody takes the deadline from a connection when the message has come: its answer may be a stream that stays open.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{}) // It could be set.
	}
	return n, err
}

// Busy answers that there are too many of something.
func Busy(w http.ResponseWriter, of string) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "too many "+of+" at once: try again later", http.StatusServiceUnavailable)
}
