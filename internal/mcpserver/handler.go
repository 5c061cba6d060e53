// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxSessions is the most sessions of one server at once.
	maxSessions = 64
	// maxRequests is the most requests of one server at once: a session has a stream that stays open.
	maxRequests = 128
	// allRequests is the most requests of all accounts at once, and requestsOf the most of one.
	allRequests, requestsOf = 1024, 192
	// small is a message that needs no room of its own. largeBytes are the bytes of larger ones that are read at once, and largeOf those of one account:
	// messages are read whole.
	small, largeBytes, largeOf = 64 << 10, 4 * MaxMessage, MaxMessage
	// sessionHeader has the id of a session.
	sessionHeader = "Mcp-Session-Id"
	// SessionIdle is how long a session stays without a request.
	SessionIdle = 30 * time.Minute
	// connectionIdle is how long a connection stays without a request. A stream is one.
	connectionIdle = 2 * time.Minute
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
// the server that find returns. No account can take all that is bounded.
func Handler(verify auth.TokenVerifier, find Find) http.Handler {
	sessions := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		s, _ := r.Context().Value(of{}).(*Server)
		return s.Server
	}, &mcp.StreamableHTTPOptions{SessionTimeout: SessionIdle, MaxRequestBodyBytes: MaxMessage})
	toSession := fewBytes(oneMessage(sessions))
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
		if r.Header.Get(sessionHeader) == "" && s.sessionsNow() >= maxSessions {
			Busy(w, "sessions")
			return
		}
		s.endCalls(r)
		toSession.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), of{}, s)))
	})
	return sameOrigin(auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(fewRequests(found)))
}

// HTTP is a server of a handler with bounds. Requests end with the context.
func HTTP(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, MaxHeaderBytes: maxHeader, IdleTimeout: connectionIdle,
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

// ExtraShare is the key of a text in the information of a token, which several accounts can have in common: they share what one has of the bounds. Without
// it, each account is by itself.
const ExtraShare = "share"

// sharerOf is who a request counts for. Its token was looked at.
func sharerOf(r *http.Request) string {
	info := auth.TokenInfoFromContext(r.Context())
	if info == nil {
		return ""
	}
	if share, ok := info.Extra[ExtraShare].(string); ok {
		return share
	}
	return info.UserID
}

// fewRequests bounds the requests at once.
func fewRequests(next http.Handler) http.Handler {
	room := NewShares(allRequests, requestsOf)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account := sharerOf(r)
		if !room.Take(account, 1) {
			Busy(w, "requests")
			return
		}
		defer room.Give(account, 1)
		next.ServeHTTP(w, r)
	})
}

// fewBytes bounds the bytes of large messages, and the time in which a message comes. One without a length counts as one of the most bytes.
func fewBytes(next http.Handler) http.Handler {
	room := NewShares(largeBytes, largeOf)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size < 0 || size > MaxMessage {
			size = MaxMessage // A longer one is refused when so many bytes are read.
		}
		if size > small {
			account := sharerOf(r)
			if !room.Take(account, size) {
				Busy(w, "large messages")
				return
			}
			defer room.Give(account, size)
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

// oneMessage refuses batches, which an older version of the protocol has: one request would be hundreds of calls.
func oneMessage(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body := bufio.NewReader(http.MaxBytesReader(w, r.Body, MaxMessage))
			if first, err := firstOf(body); err == nil && first == '[' {
				http.Error(w, "batches are not served: send one message in each request", http.StatusBadRequest)
				return
			}
			r.Body = struct {
				io.Reader
				io.Closer
			}{body, r.Body}
		}
		next.ServeHTTP(w, r)
	})
}

// firstOf drops the white space before a message, and returns its first byte, which stays.
func firstOf(body *bufio.Reader) (byte, error) {
	for {
		b, err := body.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, body.UnreadByte()
		}
	}
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
