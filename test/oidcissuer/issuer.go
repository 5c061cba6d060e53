// SPDX-License-Identifier: Apache-2.0

// Package oidcissuer is a small issuer of OpenID Connect for tests: discovery, keys, the authorization code flow with PKCE, and tokens signed by RS256.
package oidcissuer

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// ClientID and Secret are those of the only client.
const ClientID, Secret = "motorcortex-page", "of-the-client"

// Issuer is an issuer of a test. Everybody who comes to it is the person of the last LogIn.
type Issuer struct {
	*httptest.Server
	*issuer
}

// issuer answers requests.
type issuer struct {
	// url is its name in tokens.
	url string
	key *rsa.PrivateKey
	// hints has a browser say who comes.
	hints bool

	mu sync.Mutex
	// redirect is the only address that codes are sent to.
	redirect string
	claims   map[string]any
	codes    map[string]grant
	// careless issuers take a code more than once.
	careless bool
}

// grant is what a code stands for.
type grant struct {
	challenge, nonce string
	claims           map[string]any
}

// New returns an issuer that ends with the test.
func New(t *testing.T) *Issuer {
	t.Helper()
	i, err := newIssuer()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(i.handler())
	i.url = "https://" + s.Listener.Addr().String()
	s.StartTLS()
	t.Cleanup(s.Close)
	return &Issuer{s, i}
}

// Handler is an issuer with this URL. It sends codes to the redirect address alone. Who comes is the person whose claims the browser sends as login_hint,
// in JSON.
func Handler(address, redirect string) (http.Handler, error) {
	i, err := newIssuer()
	if err != nil {
		return nil, err
	}
	i.url, i.redirect, i.hints = address, redirect, true
	return i.handler(), nil
}

func newIssuer() (*issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make the key of the issuer: %w", err)
	}
	return &issuer{key: key, codes: map[string]grant{}}, nil
}

func (i *issuer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	return mux
}

// LogIn sets who comes next. Claims replace those that a token has by itself; nil takes one away.
func (i *issuer) LogIn(redirect string, claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.redirect, i.claims = redirect, claims
}

// BeCareless has the issuer take a code more than once, against its standard.
func (i *issuer) BeCareless() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.careless = true
}

func (i *issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, map[string]any{
		"issuer": i.url, "authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token", "jwks_uri": i.url + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
	})
}

func (i *issuer) keys(w http.ResponseWriter, _ *http.Request) {
	send(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "k", Algorithm: string(jose.RS256), Use: "sig"}}})
}

func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := r.URL.Query()
	for name, want := range map[string]string{
		"client_id": ClientID, "redirect_uri": i.redirect, "response_type": "code", "code_challenge_method": "S256",
	} {
		if q.Get(name) != want {
			http.Error(w, name+" is not "+want, http.StatusBadRequest)
			return
		}
	}
	claims := i.claims
	if i.hints {
		if err := json.Unmarshal([]byte(q.Get("login_hint")), &claims); err != nil {
			http.Error(w, "login_hint has no claims: "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	code := rand.Text()
	i.codes[code] = grant{q.Get("code_challenge"), q.Get("nonce"), claims}
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.url}}
	http.Redirect(w, r, i.redirect+"?"+back.Encode(), http.StatusFound)
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	g, known := i.codes[r.PostFormValue("code")]
	if !i.careless {
		delete(i.codes, r.PostFormValue("code"))
	}
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if id != ClientID || secret != Secret || !known || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || r.PostFormValue("redirect_uri") != i.redirect {
		send(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	signed, err := i.signed(g)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 3600, "id_token": signed})
}

// signed is the token that a code is exchanged for.
func (i *issuer) signed(g grant) (string, error) {
	now := time.Now()
	claims := map[string]any{"iss": i.url, "aud": ClientID, "nonce": g.nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(claims, g.claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: i.key, KeyID: "k"}}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

func send(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // A client that left needs no answer.
}
