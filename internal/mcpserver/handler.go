// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/serving/connlimit"
	"motorcortex.dev/motorcortex/internal/serving/shares"
)

const (
	// maxSessions is the most sessions of one server at once.
	maxSessions = 64
	// maxRequests is the most requests of one server at once: a session has a stream that stays open.
	maxRequests = 128
	// allRequests is the most requests of all accounts at once, and requestsOf the most of one.
	allRequests, requestsOf = 1024, 192
	// sessionHeader has the id of a session.
	sessionHeader = "Mcp-Session-Id"
	// SessionIdle is how long a session stays without a request.
	SessionIdle = 30 * time.Minute
	// connectionIdle is how long a connection stays without a request. A stream is one.
	connectionIdle = 2 * time.Minute
	// headerTime is how long the header of a request may take, and maxHeader its most bytes.
	headerTime, maxHeader = 10 * time.Second, 64 << 10
	// messageTime is how long a message may take, and writeTime how long a program may leave what is written to it unread.
	messageTime, writeTime = time.Minute, 30 * time.Second
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
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connlimit.Known(r.Context())
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
	return sameOrigin(verified(verify, fewRequests(serve)))
}

// HTTP is a server of a handler with bounds. Requests end with the context.
func HTTP(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler: inTime(h, writeTime), ReadHeaderTimeout: headerTime, MaxHeaderBytes: maxHeader, IdleTimeout: connectionIdle,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
}

// looked is the key of what was found of the token of a request.
type looked struct{}

// found is what was found of a token.
type found struct {
	info *auth.TokenInfo
	err  error
}

// verified serves requests whose token is valid. Where a token cannot be looked at now, the program is told to try again: the SDK would call that a failure of
// the server.
func verified(verify auth.TokenVerifier, next http.Handler) http.Handler {
	inner := auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		f, ok := ctx.Value(looked{}).(found)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return f.info, f.err
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The SDK refuses a header that is another one.
		if fields := strings.Fields(r.Header.Get("Authorization")); len(fields) == 2 && strings.EqualFold(fields[0], "bearer") {
			info, err := verify(r.Context(), fields[1], r)
			if err != nil && !errors.Is(err, auth.ErrInvalidToken) && !errors.Is(err, auth.ErrOAuth) {
				unavailable(w, err.Error())
				return
			}
			r = r.WithContext(context.WithValue(r.Context(), looked{}, found{info, err}))
		}
		inner.ServeHTTP(w, r)
	})
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
	places := shares.New(allRequests, requestsOf)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account := sharerOf(r)
		if !places.Take(account, 1) {
			Busy(w, "requests")
			return
		}
		defer places.Give(account, 1)
		next.ServeHTTP(w, r)
	})
}

// Busy answers that there are too many of something.
func Busy(w http.ResponseWriter, of string) {
	unavailable(w, "too many "+of+" at once: try again later")
}

// unavailable answers that the program must try again later.
func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, why, http.StatusServiceUnavailable)
}
