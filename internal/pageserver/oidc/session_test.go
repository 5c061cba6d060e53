// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func someOptions(t *testing.T) Options {
	t.Helper()
	return Options{
		Issuer: "https://issuer.example.org", ClientID: "page", URL: "https://motor.example.org", KeyFiles: []string{keyFile(t, someKey())},
		Life: time.Hour, Names: names,
	}
}

func newLogins(t *testing.T, o Options) *Logins {
	t.Helper()
	l, err := New(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// given is the cookie of a new session of dana.
func given(t *testing.T, l *Logins) *http.Cookie {
	t.Helper()
	return givenTo(t, l, "oidc:dana")
}

func givenTo(t *testing.T, l *Logins, user string) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	if err := l.give(w, user, []string{"oidc:a"}); err != nil {
		t.Fatal(err)
	}
	return w.Result().Cookies()[0]
}

// with sends a request with a cookie through Require to a handler.
func with(l *Logins, c *http.Cookie, method, path string, next http.HandlerFunc) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	if c != nil {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	l.Require(next).ServeHTTP(w, r)
	return w
}

func TestTheCookieOfASession(t *testing.T) {
	t.Parallel()
	c := given(t, newLogins(t, someOptions(t)))
	if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 3600 || !strings.HasPrefix(c.Name, "__Host-") {
		t.Errorf("%+v", c)
	}
}

// A session counts with its keys and rules, until its end.
func TestWhichSessionsCount(t *testing.T) {
	t.Parallel()
	options := someOptions(t)
	cookie := given(t, newLogins(t, options))
	change := func(f func(*Options)) *Logins {
		o := options
		f(&o)
		return newLogins(t, o)
	}
	later := newLogins(t, options)
	later.now = func() time.Time { return time.Now().Add(time.Hour) }
	for name, tt := range map[string]struct {
		logins *Logins
		cookie *http.Cookie
		want   int
	}{
		"a session":           {newLogins(t, options), cookie, http.StatusOK},
		"no cookie":           {newLogins(t, options), nil, http.StatusUnauthorized},
		"its end":             {later, cookie, http.StatusUnauthorized},
		"another key":         {change(func(o *Options) { o.KeyFiles = []string{keyFile(t, someKey())} }), cookie, http.StatusUnauthorized},
		"a newer key":         {change(func(o *Options) { o.KeyFiles = []string{keyFile(t, someKey()), o.KeyFiles[0]} }), cookie, http.StatusOK},
		"another issuer":      {change(func(o *Options) { o.Issuer += "/x" }), cookie, http.StatusUnauthorized},
		"another client":      {change(func(o *Options) { o.ClientID = "x" }), cookie, http.StatusUnauthorized},
		"another prefix":      {change(func(o *Options) { o.Names.UserPrefix = "x:" }), cookie, http.StatusUnauthorized},
		"a shorter life":      {change(func(o *Options) { o.Life = time.Minute }), cookie, http.StatusUnauthorized},
		"a cookie of a login": {newLogins(t, options), &http.Cookie{Name: sessionCookie, Value: sealed(t, newLogins(t, options))}, http.StatusUnauthorized},
	} {
		var got Session
		w := with(tt.logins, tt.cookie, http.MethodGet, "/api/me", func(_ http.ResponseWriter, r *http.Request) { got, _ = Of(r.Context()) })
		if w.Code != tt.want || (tt.want == http.StatusOK) != (got.User == "oidc:dana" && slices.Equal(got.Groups, []string{"oidc:a"})) {
			t.Errorf("%s: %d, %+v", name, w.Code, got)
		}
		if w.Code == http.StatusUnauthorized && !strings.Contains(w.Body.String(), PathLogin) {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

// sealed is a value that is a session in all but its purpose.
func sealed(t *testing.T, l *Logins) string {
	t.Helper()
	text, err := l.begun.seal(Session{ID: "x", User: "oidc:dana", Rules: l.rules, Expires: time.Now().Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A request that is served ends with its session: at its time, and when the person logs out.
func TestARequestEndsWithItsSession(t *testing.T) {
	t.Parallel()
	l := newLogins(t, someOptions(t))
	cookie := given(t, l)
	for name, end := range map[string]func(){
		"a logout": func() { with(l, cookie, http.MethodPost, PathLogout, nil) },
		"the time": func() {},
	} {
		if name == "the time" {
			cookie = given(t, l)
			l.now = func() time.Time { return time.Now().Add(time.Hour - 200*time.Millisecond) }
		} else {
			l.now = time.Now
			cookie = given(t, l)
		}
		var cause error
		w := with(l, cookie, http.MethodGet, "/api/events", func(_ http.ResponseWriter, r *http.Request) {
			end()
			select {
			case <-r.Context().Done():
				cause = r.Context().Err()
			case <-time.After(time.Minute):
			}
		})
		if cause == nil || (name == "the time") != errors.Is(cause, context.DeadlineExceeded) {
			t.Errorf("%s: %d, %v", name, w.Code, cause)
		}
	}
	l.now = time.Now
	mine, other := given(t, l), given(t, l)
	w := with(l, mine, http.MethodPost, PathLogout, nil)
	if c := w.Result().Cookies()[0]; c.MaxAge >= 0 || c.Name != sessionCookie {
		t.Errorf("the browser keeps %+v", c)
	}
	for c, want := range map[*http.Cookie]int{mine: http.StatusUnauthorized, other: http.StatusOK} {
		if w := with(l, c, http.MethodGet, "/api/me", func(http.ResponseWriter, *http.Request) {}); w.Code != want {
			t.Errorf("after a logout: %d, want %d", w.Code, want)
		}
	}
	if len(l.sessions.requests)+len(l.sessions.of) != 0 {
		t.Errorf("%d sessions of %d persons are kept", len(l.sessions.requests), len(l.sessions.of))
	}
}

// One person cannot take all of the server, in however many sessions.
func TestRequestsOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	l := newLogins(t, someOptions(t))
	cookie, second, other := given(t, l), given(t, l), givenTo(t, l, "oidc:eve")
	var nested func(n int) int
	nested = func(n int) (code int) {
		w := with(l, cookie, http.MethodGet, "/api/me", func(w http.ResponseWriter, _ *http.Request) {
			if n < maxRequests {
				w.WriteHeader(nested(n + 1))
				return
			}
			w.WriteHeader(http.StatusTeapot)
			for _, c := range []*http.Cookie{cookie, second} {
				if got := with(l, c, http.MethodGet, "/api/me", func(http.ResponseWriter, *http.Request) {}); got.Code != http.StatusTooManyRequests {
					t.Errorf("one more: %d", got.Code)
				}
			}
			if got := with(l, other, http.MethodGet, "/api/me", func(http.ResponseWriter, *http.Request) {}); got.Code != http.StatusOK {
				t.Errorf("another person: %d", got.Code)
			}
		})
		return w.Code
	}
	if got := nested(1); got != http.StatusTeapot {
		t.Errorf("the last request that has room: %d", got)
	}
}
