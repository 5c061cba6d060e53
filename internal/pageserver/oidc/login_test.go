// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/oidcissuer"
)

func TestOptionsOfLoginsThatAreRefused(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(*Options){
		"the issuer must be a URL":  func(o *Options) { o.Issuer = "http://issuer.example.org" },
		"must be a URL with https":  func(o *Options) { o.URL = "http://motor.example.org" },
		"must have no path":         func(o *Options) { o.URL += "/page" },
		"ID of the client":          func(o *Options) { o.ClientID = "" },
		"files with keys":           func(o *Options) { o.KeyFiles = nil },
		"random ones are needed":    func(o *Options) { o.KeyFiles = []string{keyFile(t, "short")} },
		"the life of sessions must": func(o *Options) { o.Life = 25 * time.Hour },
		"begins with system:":       func(o *Options) { o.Names.UserPrefix = "system:" },
	} {
		o := someOptions(t)
		change(&o)
		if _, err := New(o, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// A login leads to the issuer with what makes its answer this browser's alone, and with nothing of the cookie.
func TestWhereALoginLeads(t *testing.T) {
	t.Parallel()
	issuer := oidcissuer.New(t)
	o := someOptions(t)
	o.Issuer, o.HTTP, o.Scopes = issuer.URL, issuer.Client(), []string{"groups"}
	l := newLogins(t, o)
	seen := map[string]bool{}
	for range 2 {
		w := with(l, nil, http.MethodGet, PathLogin, nil)
		to, err := url.Parse(w.Header().Get("Location"))
		if err != nil || w.Code != http.StatusSeeOther || !strings.HasPrefix(to.String(), issuer.URL+"/authorize?") {
			t.Fatalf("%d, %s, %v", w.Code, to, err)
		}
		q := to.Query()
		for name, want := range map[string]string{
			"client_id": "page", "redirect_uri": "https://motor.example.org" + PathCallback, "response_type": "code", "code_challenge_method": "S256", "scope": "openid groups",
		} {
			if q.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, q.Get(name), want)
			}
		}
		for _, name := range []string{"state", "nonce", "code_challenge"} {
			if v := q.Get(name); len(v) < 40 || seen[v] {
				t.Errorf("%s is %q", name, v)
			} else {
				seen[v] = true
			}
		}
		c := w.Result().Cookies()[0]
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != int(loginTime/time.Second) || !strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("%+v", c)
		}
	}
}

// An issuer that comes back is asked anew, and not more often than it can bear.
func TestAnIssuerThatIsAway(t *testing.T) {
	t.Parallel()
	issuer := oidcissuer.New(t)
	o := someOptions(t)
	o.Issuer, o.HTTP = issuer.URL, &http.Client{Transport: refused{}}
	l := newLogins(t, o)
	if w := with(l, nil, http.MethodGet, PathLogin, nil); w.Code != http.StatusBadGateway {
		t.Errorf("while it is away: %d", w.Code)
	}
	l.client = issuer.Client()
	l.asked = time.Now().Add(time.Hour)
	if w := with(l, nil, http.MethodGet, PathLogin, nil); w.Code != http.StatusBadGateway {
		t.Errorf("at once: %d", w.Code)
	}
	l.asked = time.Now().Add(-issuerPause)
	if w := with(l, nil, http.MethodGet, PathLogin, nil); w.Code != http.StatusSeeOther {
		t.Errorf("later: %d", w.Code)
	}
}

// withIssuer are logins at an issuer.
func withIssuer(t *testing.T) (*Logins, *oidcissuer.Issuer) {
	t.Helper()
	issuer := oidcissuer.New(t)
	o := someOptions(t)
	o.Issuer, o.HTTP, o.ClientID, o.SecretFile = issuer.URL, issuer.Client(), oidcissuer.ClientID, keyFile(t, oidcissuer.Secret)
	o.Names = Names{UserClaim: "sub", UserPrefix: "oidc:"}
	return newLogins(t, o), issuer
}

// comesBack begins a login, and returns the cookie of the browser and the path at which it comes back from the issuer.
func comesBack(t *testing.T, l *Logins, issuer *oidcissuer.Issuer, sub string) (cookie *http.Cookie, path string) {
	t.Helper()
	issuer.LogIn(l.options.URL+PathCallback, map[string]any{"sub": sub})
	w := with(l, nil, http.MethodGet, PathLogin, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Header().Get("Location"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	c := *issuer.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	back, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = back.Body.Close()
	return w.Result().Cookies()[0], strings.TrimPrefix(back.Header.Get("Location"), l.options.URL)
}

// Logins that ask the issuer at once are few, and one more comes in its turn, or gives up with its browser.
func TestALoginWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	l, issuer := withIssuer(t)
	if !l.exchanging.TryAcquire(maxExchanges) {
		t.Fatal("there is no room")
	}
	cookie, path := comesBack(t, l, issuer, "dana")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(over, http.MethodGet, path, http.NoBody)
	r.AddCookie(cookie)
	w := httptest.NewRecorder()
	l.Require(nil).ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a browser that broke off: status %d", w.Code)
	}
	ended := make(chan int, 1)
	go func() { ended <- with(l, cookie, http.MethodGet, path, nil).Code }()
	select {
	case status := <-ended:
		t.Errorf("without room: status %d", status)
	case <-time.After(50 * time.Millisecond):
	}
	l.exchanging.Release(1)
	if status := <-ended; status != http.StatusSeeOther {
		t.Errorf("in its turn: status %d", status)
	}
}

// A person who has very many logins begun and ended is held up, and no one else is.
func TestAPersonWhoLogsInTooOften(t *testing.T) {
	t.Parallel()
	l, issuer := withIssuer(t)
	login := func(sub string) int {
		t.Helper()
		cookie, path := comesBack(t, l, issuer, sub)
		return with(l, cookie, http.MethodGet, path, nil).Code
	}
	for i := range maxLogins + 1 {
		want := http.StatusSeeOther
		if i == maxLogins {
			want = http.StatusForbidden
		}
		if got := login("dana"); got != want {
			t.Fatalf("login %d: status %d, want %d", i+1, got, want)
		}
	}
	if got := login("eve"); got != http.StatusSeeOther {
		t.Errorf("another person: status %d", got)
	}
}

// refused is a network without the issuer.
type refused struct{}

func (refused) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }
