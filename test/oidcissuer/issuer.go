// SPDX-License-Identifier: Apache-2.0

// Package oidcissuer is a small issuer of OpenID Connect for tests: discovery, keys, the authorization code flow with PKCE, and tokens signed by RS256.
package oidcissuer

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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

// Issuer is an issuer. Everybody who comes to it is the person of the last LogIn.
type Issuer struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey

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
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{t: t, key: key, codes: map[string]grant{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	return i
}

// LogIn sets who comes next. Claims replace those that a token has by itself; nil takes one away.
func (i *Issuer) LogIn(redirect string, claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.redirect, i.claims = redirect, claims
}

// BeCareless has the issuer take a code more than once, against its standard.
func (i *Issuer) BeCareless() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.careless = true
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	i.send(w, map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
	})
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	i.send(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "k", Algorithm: string(jose.RS256), Use: "sig"}}})
}

func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
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
	code := rand.Text()
	i.codes[code] = grant{q.Get("code_challenge"), q.Get("nonce"), i.claims}
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}
	http.Redirect(w, r, i.redirect+"?"+back.Encode(), http.StatusFound)
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	g, known := i.codes[r.PostFormValue("code")]
	if !i.careless {
		delete(i.codes, r.PostFormValue("code"))
	}
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if id != ClientID || secret != Secret || !known || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || r.PostFormValue("redirect_uri") != i.redirect {
		w.WriteHeader(http.StatusBadRequest)
		i.send(w, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := map[string]any{"iss": i.URL, "aud": ClientID, "nonce": g.nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(claims, g.claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: i.key, KeyID: "k"}}, nil)
	if err != nil {
		i.t.Error(err)
		return
	}
	signed, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		i.t.Error(err)
		return
	}
	i.send(w, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 3600, "id_token": signed})
}

func (i *Issuer) send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		i.t.Error(err)
	}
}
