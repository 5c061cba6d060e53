// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

// Session is one authenticated connection's view of its run. Only Grant is required: without the other fields a Session has no limits and
// reports to no one.
type Session struct {
	// Grant is the grant by which the connection was let in. It is never changed; see Current.
	Grant *grant.Grant

	exchange *exchange
	run      *run
	policy   policy

	mu   sync.Mutex
	used []string
}

// Current returns the run's grant as it is now, with rotated values, or nil if there is none any more.
func (s *Session) Current() *grant.Grant {
	if s.exchange == nil {
		return s.Grant
	}
	p, ok := s.exchange.server.grants.current(s.run, s.Grant.TokenHash)
	if !ok {
		return nil
	}
	return p.grant
}

// Redactor removes the values that the run's grant has now and those that it had before. A caller that asks for it after Current gets one
// that knows the values of that grant.
func (s *Session) Redactor() *redact.Redactor {
	if s.exchange == nil {
		return (*values)(nil).with(valuesOf(s.Grant)).redactor()
	}
	p, _ := s.exchange.server.grants.current(s.run, s.Grant.TokenHash)
	return p.values.redactor()
}

// Request counts one more request of the connection. A reason other than "" refuses it.
func (s *Session) Request() Reason {
	if s.exchange == nil {
		return ""
	}
	return s.run.usage.request(s.exchange.server.now())
}

// Used records that a credential was sent to the host; its name is in the audit line of the connection.
func (s *Session) Used(credential string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.used, credential) {
		s.used = append(s.used, credential)
	}
}

func (s *Session) credentials() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.used))
}

// Deny records a refusal within the connection: a metric, an audit line, and the Reporter.
func (s *Session) Deny(d Denial) {
	if s.exchange != nil {
		s.exchange.record(d)
	}
}

// identify finds the run of the client. The run is also returned with refusals that are about its token.
func (x *exchange) identify(ctx context.Context, header http.Header) Reason {
	token, ok := proxyToken(header)
	if !ok {
		return ReasonNoToken
	}
	s := x.server
	hash := grant.HashToken(token)
	r, p, reason := s.grants.find(hash, x.source)
	if (reason == ReasonUnknownToken || reason == ReasonExpired) && s.sources.wait(x.source) {
		wait, cancel := context.WithTimeout(ctx, s.timeouts.Grant)
		r, p, reason = s.grants.await(wait, hash, x.source)
		cancel()
		s.sources.waited(x.source)
	}
	if r == nil {
		return reason
	}
	s.grants.count(r, s.limits)
	x.session = &Session{Grant: p.grant, exchange: x, run: r, policy: p}
	return reason
}

// proxyToken extracts the token from Proxy-Authorization. A text that cannot be one of our tokens is not looked up.
func proxyToken(header http.Header) (string, bool) {
	scheme, encoded, _ := strings.Cut(header.Get("Proxy-Authorization"), " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", false
	}
	pair, err := base64.StdEncoding.Strict().DecodeString(strings.TrimLeft(encoded, " "))
	if err != nil {
		return "", false
	}
	user, token, ok := strings.Cut(string(pair), ":")
	if !ok || user != grant.User {
		return "", false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return token, err == nil && len(raw) == tokenBytes
}

// tokenBytes is the number of bytes that grant.Token encodes.
const tokenBytes = 32

// sourceOf returns the address of a connection's other end, which is the invalid one if it has none.
func sourceOf(addr interface{ String() string }) netip.Addr {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}
