// SPDX-License-Identifier: Apache-2.0

// Package grant is what the manager sends the egress proxy about a run: which client may pass, where to, and with which credentials. It is
// the format of a Secret in the operator's namespace, one for each run, and is pure: no client, no clock.
package grant

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/secret"
)

const (
	// SecretType is the type of a Secret that holds a grant.
	SecretType = "motorcortex.dev/egress-grant"
	// CheckPath is where a client of the proxy learns with a plain GET, and without reaching anything, whether its grant
	// counts: 204 if it does.
	CheckPath = "/motor/check"
	// HandlePrefix begins every handle, so that one can be found where it does not belong.
	HandlePrefix = "mch-"
	// User is the user name for the token in Proxy-Authorization.
	User = "motor"
	// Port is where the egress proxy listens.
	Port = 3128
	// Lifetime is how long a grant is valid without a renewal.
	Lifetime = 5 * time.Minute

	keyGrant = "grant.json"
	keyCA    = "ca.crt"
	keyCAKey = "ca.key"
	// keyCredential is followed by the credential's name.
	keyCredential = "credential."
)

// SecretName is the name of the Secret of a run's grant.
func SecretName(runUID string) string { return "egress-" + runUID }

// Grant is what a run's sandbox may reach.
type Grant struct {
	RunUID    string `json:"runUID"`
	Namespace string `json:"namespace"`
	Run       string `json:"run"`
	PodName   string `json:"podName"`
	PodUID    string `json:"podUID"`
	// PodIPs are the only addresses that the token is accepted from.
	PodIPs []netip.Addr `json:"podIPs"`
	// TokenHash is HashToken of the token.
	TokenHash string `json:"tokenHash"`
	// Attempt is the one that the token is for.
	Attempt int32 `json:"attempt"`
	// Domains are rules as allowlist.ParseRule reads them.
	Domains     []string     `json:"domains"`
	Credentials []Credential `json:"credentials,omitempty"`
	// ExpiresAt is when the grant stops counting unless it is renewed.
	ExpiresAt time.Time `json:"expiresAt"`
	// CA signs the certificates that the proxy shows the sandbox for hosts with a credential. It is nil without credentials.
	CA *CA `json:"-"`
}

// Credential is a value and where it may go.
type Credential struct {
	Name string `json:"name"`
	// Handle stands for the value in the sandbox.
	Handle string `json:"handle"`
	// Hosts are rules as allowlist.ParseRule reads them.
	Hosts []string `json:"hosts"`
	// Slot is Bearer, Basic, "Header NAME" or "Query NAME".
	Slot string `json:"slot"`
	// Exposed is true if the sandbox has the value itself.
	Exposed bool         `json:"exposed,omitempty"`
	Value   secret.Value `json:"-"`
}

// CA is a certificate authority, in PEM.
type CA struct {
	Cert []byte
	Key  secret.Value
}

// Encode returns the data of the grant's Secret.
func (g *Grant) Encode() (map[string][]byte, error) {
	text, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("encode the grant: %w", err)
	}
	data := map[string][]byte{keyGrant: text}
	for _, c := range g.Credentials {
		data[keyCredential+c.Name] = c.Value.Reveal()
	}
	if g.CA != nil {
		data[keyCA], data[keyCAKey] = g.CA.Cert, g.CA.Key.Reveal()
	}
	return data, nil
}

// Decode reads the data of a grant's Secret. The error names no value.
func Decode(data map[string][]byte) (*Grant, error) {
	g := &Grant{}
	if err := json.Unmarshal(data[keyGrant], g); err != nil {
		return nil, fmt.Errorf("decode the grant: %w", err)
	}
	if g.RunUID == "" || g.PodUID == "" || g.TokenHash == "" || g.ExpiresAt.IsZero() {
		return nil, errors.New("decode the grant: runUID, podUID, tokenHash and expiresAt are required")
	}
	for i := range g.Credentials {
		c := &g.Credentials[i]
		value, ok := data[keyCredential+c.Name]
		if !ok || len(value) == 0 {
			return nil, fmt.Errorf("decode the grant: the credential %q has no value", c.Name)
		}
		c.Value = secret.New(value)
	}
	if len(data[keyCA]) > 0 {
		g.CA = &CA{Cert: data[keyCA], Key: secret.New(data[keyCAKey])}
	}
	return g, nil
}

// Token derives the token by which the sandbox of an attempt authenticates to the proxy. A process with the manager's key can derive it at
// any time, so it need not be stored anywhere.
func Token(key []byte, runUID, podUID string, attempt int32) string {
	return base64.RawURLEncoding.EncodeToString(derive(key, "token", runUID, podUID, strconv.Itoa(int(attempt))))
}

// HashToken is the form of a token in the grant.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Handle derives the stand-in for a credential in the run's sandbox.
func Handle(key []byte, runUID, podUID, name string) string {
	sum := derive(key, "handle", runUID, podUID, name)
	return HandlePrefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

func derive(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return h.Sum(nil)
}
