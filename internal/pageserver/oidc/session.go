// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// sessionCookie has the session. Its prefix has browsers take it over TLS alone, from this host and no other.
	sessionCookie = "__Host-motorcortex"
	// maxRequests is how many requests of a person are served at once.
	maxRequests = 32
)

// Session is the login of a person.
type Session struct {
	ID string `json:"id"`
	// Issuer, User and Groups say who it is. The names are those of Kubernetes.
	Issuer  string    `json:"iss"`
	User    string    `json:"user"`
	Groups  []string  `json:"groups,omitempty"`
	Expires time.Time `json:"exp"`
	// Rules stands for the options by which the names were made.
	Rules string `json:"rules"`
}

type sessionKey struct{}

// Of returns the session of a request that Require let through.
func Of(ctx context.Context) (Session, bool) {
	s, ok := ctx.Value(sessionKey{}).(Session)
	return s, ok
}

// sessions are those that are in use.
type sessions struct {
	mu sync.Mutex
	// requests are what ends the requests of a session that are served now.
	requests map[string]map[*context.CancelFunc]bool
	// of counts the requests of each person, in all sessions.
	of    map[string]int
	ended once
}

// begin has a request end with its session. Its status is 0 unless the session has ended, or the person has too many requests.
func (s *sessions) begin(session *Session, cancel context.CancelFunc) (end func(), status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The lock is held: a logout comes before and is seen, or after and ends the request.
	id, user := session.ID, session.User
	if s.ended.taken(id) {
		return nil, http.StatusUnauthorized
	}
	if s.of[user] >= maxRequests {
		return nil, http.StatusTooManyRequests
	}
	if s.requests == nil {
		s.requests, s.of = map[string]map[*context.CancelFunc]bool{}, map[string]int{}
	}
	if s.requests[id] == nil {
		s.requests[id] = map[*context.CancelFunc]bool{}
	}
	s.requests[id][&cancel] = true
	s.of[user]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.requests[id], &cancel)
		if len(s.requests[id]) == 0 {
			delete(s.requests, id)
		}
		if s.of[user]--; s.of[user] == 0 {
			delete(s.of, user)
		}
	}, 0
}

// end ends a session, and its requests.
func (s *sessions) end(session *Session, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.ended.take(session.User, session.ID, now, session.Expires)
	for cancel := range s.requests[session.ID] {
		(*cancel)()
	}
	return err
}

// Require lets requests below /api through that are of a session, and serves the login. The other files of the page tell nothing. Each request ends with
// its session: a stream of changes, too.
func (l *Logins) Require(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathLogin, l.login)
	mux.HandleFunc("GET "+PathCallback, l.callback)
	mux.HandleFunc("POST "+PathLogout, l.logout)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/") {
			next.ServeHTTP(w, r)
			return
		}
		session, err := l.session(r)
		if err != nil {
			l.noSession(w, err)
			return
		}
		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), sessionKey{}, session), session.Expires.Sub(l.now()))
		defer cancel()
		end, status := l.sessions.begin(&session, cancel)
		switch status {
		case 0:
			defer end()
			next.ServeHTTP(w, r.WithContext(ctx))
		case http.StatusUnauthorized:
			l.noSession(w, errNoSession)
		default:
			answer(w, status, map[string]string{"error": "Too many windows of yours ask at once: close some of them."})
		}
	})
	return mux
}

// errNoSession is why a request is of no person.
var errNoSession = errors.New("you are not logged in, or not any more")

// session is the one of a request. Its error is errNoSession unless the keys cannot be read.
func (l *Logins) session(r *http.Request) (Session, error) {
	var s Session
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return s, errNoSession
	}
	switch err := l.sealed.open(cookie.Value, &s); {
	case errors.Is(err, errSeal):
		return s, errNoSession
	case err != nil:
		return s, err
	// An issuer that was exchanged for another one, other rules for names, and a shorter life end the sessions from before.
	case s.ID == "" || s.User == "" || s.Rules != l.rules || !l.now().Before(s.Expires) || s.Expires.After(l.now().Add(l.options.Life)):
		return Session{}, errNoSession
	}
	return s, nil
}

// noSession answers a request that is of no person. The page leads to the login.
func (l *Logins) noSession(w http.ResponseWriter, err error) {
	if !errors.Is(err, errNoSession) {
		l.log.Error("sessions cannot be read", "error", err)
		answer(w, http.StatusInternalServerError, map[string]string{"error": "The server of this page cannot read its keys: the person who runs it finds the cause in its log."})
		return
	}
	answer(w, http.StatusUnauthorized, map[string]string{"error": "Log in: " + errNoSession.Error() + ".", "login": PathLogin})
}

// give begins a session.
func (l *Logins) give(w http.ResponseWriter, user string, groups []string) error {
	s := Session{ID: rand.Text(), Issuer: l.options.Issuer, User: user, Groups: groups, Expires: l.now().Add(l.options.Life), Rules: l.rules}
	value, err := l.sealed.seal(s)
	if err != nil {
		return err
	}
	// Strict: no other site has a browser send it. The documents of the page need none, and their requests are of this site.
	http.SetCookie(w, cookie(sessionCookie, value, l.options.Life, http.SameSiteStrictMode))
	return nil
}

// logout ends the session of a request, here and in the browser. The session at the issuer goes on.
func (l *Logins) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, cookie(sessionCookie, "", 0, http.SameSiteStrictMode))
	s, err := l.session(r)
	if err == nil {
		err = l.sessions.end(&s, l.now())
	}
	if err != nil && !errors.Is(err, errNoSession) {
		l.log.Error("a session does not end", "error", err)
		answer(w, http.StatusServiceUnavailable, map[string]string{"error": "Your session does not end on the server: try again later."})
		return
	}
	answer(w, http.StatusOK, map[string]string{"login": PathLogin})
}

// cookie is one of the server, and takes it away if it has no value.
func cookie(name, value string, life time.Duration, site http.SameSite) *http.Cookie {
	c := &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(life / time.Second), Secure: true, HttpOnly: true, SameSite: site}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

func answer(w http.ResponseWriter, status int, v map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // A map of strings has a JSON form, and a browser that left needs none.
}
