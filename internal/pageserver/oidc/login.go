// SPDX-License-Identifier: Apache-2.0

// Package oidc logs persons in with OpenID Connect (authorization code flow with PKCE), and knows them by an encrypted cookie from then on.
package oidc

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/semaphore"
)

// The paths of the login.
const (
	PathLogin    = "/oidc/login"
	PathCallback = "/oidc/callback"
	PathLogout   = "/oidc/logout"
)

const (
	// MaxLife is the longest life of a session.
	MaxLife = 24 * time.Hour
	// loginCookie has what a login that was begun must come back with.
	loginCookie = "__Host-motorcortex-login"
	// loginTime is how long a person has to log in at the issuer.
	loginTime = 10 * time.Minute
	// issuerTime is how long the issuer may take for all requests of a login.
	issuerTime = 20 * time.Second
	// turnTime is how long a login waits until others have asked the issuer.
	turnTime = 20 * time.Second
	// issuerPause is how long an issuer that did not answer is left alone.
	issuerPause = 2 * time.Second
	// maxIssuer is the most bytes of an answer of the issuer.
	maxIssuer = 1 << 20
	// maxLogins is how often one person logs in within loginTime.
	maxLogins = 64
	// maxExchanges is how many logins are checked with the issuer at once.
	maxExchanges = 16
	// maxCause is the most characters of a cause in the log. Errors can have answers of the issuer in them.
	maxCause = 1000
	// maxSecret is the most bytes of the secret of the client.
	maxSecret = 4096
)

// Options are what a person decides about Logins.
type Options struct {
	// Issuer is the URL of the issuer, exactly as in its tokens.
	Issuer string
	// ClientID is the name of the page at the issuer. Tokens must be for it. SecretFile has its secret, "" if it has none.
	ClientID, SecretFile string
	// URL is the address of the page, as browsers know it: https and a host, without a path.
	URL string
	// Scopes are those beside openid.
	Scopes []string
	Names  Names
	// KeyFiles have the keys of sessions. The first seals, and all open.
	KeyFiles []string
	// Life is how long a session is, at most MaxLife.
	Life time.Duration
	// HTTP reaches the issuer. It is a client of its own with the roots of the system if it is nil.
	HTTP *http.Client
}

func (o *Options) check() error {
	for name, address := range map[string]string{"the issuer": o.Issuer, "the address of the page": o.URL} {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("%s must be a URL with https and a host, and is %q", name, address)
		}
	}
	if u, err := url.Parse(o.URL); err != nil || u.Path != "" {
		return fmt.Errorf("the address of the page must have no path, and is %q", o.URL)
	}
	switch {
	case o.ClientID == "":
		return errors.New("the ID of the client is missing: it is what keeps tokens for other programs out")
	case len(o.KeyFiles) == 0 || len(o.KeyFiles) > maxKeys:
		return fmt.Errorf("1 to %d files with keys of sessions are needed", maxKeys)
	case o.Life < time.Minute || o.Life > MaxLife:
		return fmt.Errorf("the life of sessions must be from a minute to %s, and is %s", MaxLife, o.Life)
	}
	return o.Names.check()
}

// Logins logs persons in.
type Logins struct {
	options    Options
	log        *slog.Logger
	now        func() time.Time
	client     *http.Client
	sealed     seals
	begun      seals
	used       once
	sessions   sessions
	exchanging *semaphore.Weighted

	// rules stands for the options that decide who a person is.
	rules string

	mu       sync.Mutex
	provider *oidc.Provider
	// silent is why the issuer said nothing about itself, and asked when that was.
	silent error
	asked  time.Time
}

// New returns Logins. The issuer is asked with the first login: the page starts while it is away.
func New(options Options, log *slog.Logger) (*Logins, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	client := &http.Client{}
	if options.HTTP != nil {
		*client = *options.HTTP
	}
	client.Timeout = issuerTime
	client.Transport = bounded{client.Transport}
	l := &Logins{
		options: options, log: log, now: time.Now, client: client, exchanging: semaphore.NewWeighted(maxExchanges),
		used:   once{of: maxLogins},
		sealed: seals{options.KeyFiles, "session"}, begun: seals{options.KeyFiles, "login"},
	}
	rules, err := json.Marshal([]any{options.Issuer, options.ClientID, options.Names})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(rules)
	l.rules = hex.EncodeToString(sum[:])
	// A server without keys has no session: it says so at once.
	if _, err := l.sealed.ring(); err != nil {
		return nil, err
	}
	return l, nil
}

// bounded bounds the answers of the issuer, which the libraries read whole.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	next := b.next
	if next == nil {
		next = http.DefaultTransport
	}
	a, err := next.RoundTrip(r)
	if err == nil {
		a.Body = http.MaxBytesReader(nil, a.Body, maxIssuer)
	}
	return a, err
}

// attempt is a login that was begun.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Expires  time.Time `json:"exp"`
}

// known returns what the issuer says about itself. It is asked until it answered once.
func (l *Logins) known(ctx context.Context) (*oidc.Provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.provider != nil {
		return l.provider, nil
	}
	// Requests that waited for the lock do not wait for the issuer once more, each after the other.
	if l.silent != nil && l.now().Sub(l.asked) < issuerPause {
		return nil, l.silent
	}
	// A browser that breaks off is no silence of the issuer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), issuerTime)
	defer cancel()
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, l.client), l.options.Issuer)
	l.silent, l.asked = err, l.now()
	if err != nil {
		return nil, err
	}
	l.provider = p
	return p, nil
}

// config is that of the client at the issuer. Its secret is read each time, so that it can be replaced.
func (l *Logins) config(p *oidc.Provider) (*oauth2.Config, error) {
	c := &oauth2.Config{
		ClientID: l.options.ClientID, Endpoint: p.Endpoint(), RedirectURL: l.options.URL + PathCallback,
		Scopes: append([]string{oidc.ScopeOpenID}, l.options.Scopes...),
	}
	if l.options.SecretFile == "" {
		return c, nil
	}
	secret, err := os.ReadFile(l.options.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("read the secret of the client: %w", err)
	}
	if c.ClientSecret = string(bytes.TrimSpace(secret)); c.ClientSecret == "" || len(secret) > maxSecret {
		return nil, fmt.Errorf("the secret of the client in %s is empty, or has over %d bytes", l.options.SecretFile, maxSecret)
	}
	return c, nil
}

// login leads a browser to the issuer.
func (l *Logins) login(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), issuerTime)
	defer cancel()
	p, err := l.known(ctx)
	if err != nil {
		l.refuse(w, http.StatusBadGateway, "The issuer of logins does not answer as it should. Try again in a while.", err)
		return
	}
	config, err := l.config(p)
	if err != nil {
		l.refuse(w, http.StatusInternalServerError, "The server of this page is not set up for logins.", err)
		return
	}
	a := attempt{State: rand.Text() + rand.Text(), Nonce: rand.Text() + rand.Text(), Verifier: oauth2.GenerateVerifier(), Expires: l.now().Add(loginTime)}
	value, err := l.begun.seal(a)
	if err != nil {
		l.refuse(w, http.StatusInternalServerError, "The server of this page is not set up for logins.", err)
		return
	}
	// Lax: the browser comes back from the issuer, which is another site.
	http.SetCookie(w, cookie(loginCookie, value, loginTime, http.SameSiteLaxMode))
	http.Redirect(w, r, config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), http.StatusSeeOther)
}

// callback takes a browser in that comes back from the issuer.
func (l *Logins) callback(w http.ResponseWriter, r *http.Request) {
	// A login that was begun is tried once.
	http.SetCookie(w, cookie(loginCookie, "", 0, http.SameSiteLaxMode))
	a, err := l.returned(r)
	if err != nil {
		l.refuse(w, http.StatusBadRequest, "This is not the login that was begun here, or it took too long.", err)
		return
	}
	if err := l.awaitTurn(r.Context()); err != nil {
		l.refuse(w, http.StatusServiceUnavailable, "Too many persons log in at once. Try again in a moment.", err)
		return
	}
	defer l.exchanging.Release(1)
	ctx, cancel := context.WithTimeout(oidc.ClientContext(r.Context(), l.client), issuerTime)
	defer cancel()
	user, groups, err := l.who(ctx, a, r.URL.Query().Get("code"))
	if err == nil {
		var first bool
		if first, err = l.used.take(user, a.State, l.now(), a.Expires); err == nil && !first {
			err = errors.New("it was used already")
		}
	}
	if err == nil {
		err = l.give(w, user, groups)
	}
	if err != nil {
		l.refuse(w, http.StatusForbidden, "You are not let in.", err)
		return
	}
	l.log.Info("a person has logged in", "user", user, "groups", len(groups))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// awaitTurn waits until the issuer can be asked. Logins come in the order in which they wait: a stranger who sends codes without end slows others down, and
// keeps no one out.
func (l *Logins) awaitTurn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	if err := l.exchanging.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("the issuer is asked by %d other logins: %w", maxExchanges, err)
	}
	return nil
}

// returned is the login that a browser comes back from.
func (l *Logins) returned(r *http.Request) (*attempt, error) {
	kept, err := r.Cookie(loginCookie)
	if err != nil {
		return nil, errors.New("the browser sent no cookie of a login")
	}
	a := &attempt{}
	if err := l.begun.open(kept.Value, a); err != nil {
		return nil, err
	}
	q := r.URL.Query()
	switch {
	case a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(q.Get("state"))) != 1:
		return nil, errors.New("the state is another one")
	case !l.now().Before(a.Expires):
		return nil, errors.New("it took too long")
	// The issuer that sent the browser may say who it is (RFC 9207).
	case q.Has("iss") && q.Get("iss") != l.options.Issuer:
		return nil, errors.New("it comes from another issuer")
	case q.Has("error"):
		return nil, fmt.Errorf("the issuer says %.200q: %.500q", q.Get("error"), q.Get("error_description"))
	case q.Get("code") == "":
		return nil, errors.New("the issuer sent no code")
	}
	return a, nil
}

// who exchanges the code for a token, and returns the person that it is about.
func (l *Logins) who(ctx context.Context, a *attempt, code string) (user string, groups []string, err error) {
	p, err := l.known(ctx)
	if err != nil {
		return "", nil, err
	}
	config, err := l.config(p)
	if err != nil {
		return "", nil, err
	}
	tokens, err := config.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return "", nil, fmt.Errorf("exchange the code: %w", err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := p.Verifier(&oidc.Config{ClientID: l.options.ClientID, Now: l.now}).Verify(ctx, raw)
	if err != nil {
		return "", nil, err
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1 {
		return "", nil, errors.New("the token is not of this login: its nonce is another one")
	}
	var claims map[string]json.RawMessage
	if err := token.Claims(&claims); err != nil {
		return "", nil, err
	}
	var party string
	if err := json.Unmarshal(claims["azp"], &party); len(token.Audience) > 1 && (err != nil || party != l.options.ClientID) {
		return "", nil, fmt.Errorf("the token is for %d programs, and was not given to this one", len(slices.Compact(token.Audience)))
	}
	return l.options.Names.of(claims)
}

var refusal = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Motor Cortex</title>` +
	`<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/page.css"></head>` +
	`<body><main><h1>No login</h1><p>{{.}}</p><p><a href="` + PathLogin + `">Log in again</a></p></main></body></html>`))

// refuse answers a browser that is not let in. The cause is for the log alone: it can have texts of other programs.
func (l *Logins) refuse(w http.ResponseWriter, status int, says string, err error) {
	l.log.Warn("a login came to nothing", "status", status, "error", fmt.Sprintf("%.*s", maxCause, fmt.Sprint(err)))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = refusal.Execute(w, says) // A browser that left needs no answer.
}
