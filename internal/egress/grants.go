// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

// Grants holds the current grants of the sandboxes, in memory. It is safe for concurrent use.
//
// A connection is opened and a grant is changed under the same lock: none slips through between a lookup and a revocation.
type Grants struct {
	now func() time.Time

	mu     sync.Mutex
	runs   map[string]*run
	tokens map[string]*run
	// changed is closed by the next Set, and is another one then.
	changed chan struct{}
}

// run is the state of a run. Grants.mu guards all of it; usage is not replaced once it was made.
type run struct {
	policy
	// gone is true if the grant was removed. Nothing restores it: a new grant is a new run.
	gone  bool
	links map[*link]struct{}
	usage *usage
}

// policy is a grant that was read. It is never changed.
type policy struct {
	grant *grant.Grant
	rules allowlist.List
	// bound are the hosts that a credential is for.
	bound allowlist.List
	// held finds the credentials that the sandbox has, in every encoding: the run's handles, and the values that are exposed to it.
	held *redact.Redactor
	// values are the values of the handles.
	values *values
}

// link is an open connection to a host.
type link struct {
	host allowlist.Host
	port uint16
	// bound is true if a credential was bound to the host when the connection was opened.
	bound bool
	// end closes the connection at once. It does not block.
	end func(Reason)
}

// NewGrants makes an empty set, which lets no client pass.
func NewGrants(now func() time.Time) *Grants {
	if now == nil {
		now = time.Now
	}
	return &Grants{now: now, runs: map[string]*run{}, tokens: map[string]*run{}, changed: make(chan struct{})}
}

// Set replaces the grant of a run. Open connections that it does not allow any more are closed at once; all of them if the
// token or the Pod is another one. A grant that cannot be used leaves the run without one.
func (g *Grants) Set(gr *grant.Grant) error {
	p, err := read(gr)
	if err != nil {
		g.Remove(gr.RunUID)
		return fmt.Errorf("the grant of the run %s/%s cannot be used: %w", gr.Namespace, gr.Run, err)
	}
	g.mu.Lock()
	r := g.runs[gr.RunUID]
	if other := g.tokens[gr.TokenHash]; other != nil && other != r {
		g.mu.Unlock()
		g.Remove(gr.RunUID)
		return fmt.Errorf("the grant of the run %s/%s cannot be used: its token is another run's", gr.Namespace, gr.Run)
	}
	if r == nil {
		r = &run{links: map[*link]struct{}{}}
		g.runs[gr.RunUID] = r
	} else {
		delete(g.tokens, r.grant.TokenHash)
	}
	same := r.grant != nil && r.grant.TokenHash == gr.TokenHash && r.grant.PodUID == gr.PodUID &&
		slices.Equal(r.grant.PodIPs, gr.PodIPs)
	p.values = r.values.with(valuesOf(gr))
	r.policy = p
	g.tokens[gr.TokenHash] = r
	var over []*link
	for l := range r.links {
		if _, ok := p.rules.Match(l.host, l.port); !same || !ok || l.bound != p.binds(l.host, l.port) {
			over = append(over, l)
		}
	}
	close(g.changed)
	g.changed = make(chan struct{})
	g.mu.Unlock()
	endAll(over, ReasonRevoked)
	return nil
}

// Remove forgets the grant of a run, and closes its open connections at once.
func (g *Grants) Remove(runUID string) {
	g.mu.Lock()
	var over []*link
	if r := g.runs[runUID]; r != nil {
		over = g.forget(runUID, r)
	}
	g.mu.Unlock()
	endAll(over, ReasonRevoked)
}

// Expire closes the connections of grants that were not renewed in time. The grants stay: a renewal makes them valid again.
func (g *Grants) Expire() {
	now := g.now()
	g.mu.Lock()
	var over []*link
	for _, r := range g.runs {
		if r.expired(now) {
			over = append(over, r.open()...)
		}
	}
	g.mu.Unlock()
	endAll(over, ReasonExpired)
}

// Len is how many runs have a grant.
func (g *Grants) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.runs)
}

// forget is called with the lock held.
func (g *Grants) forget(runUID string, r *run) []*link {
	delete(g.runs, runUID)
	delete(g.tokens, r.grant.TokenHash)
	r.gone = true
	return r.open()
}

func (r *run) open() []*link {
	links := make([]*link, 0, len(r.links))
	for l := range r.links {
		links = append(links, l)
	}
	return links
}

func (r *run) expired(now time.Time) bool { return !now.Before(r.grant.ExpiresAt) }

func endAll(links []*link, why Reason) {
	for _, l := range links {
		l.end(why)
	}
}

// find returns the run that a token is for. The run is returned with ReasonExpired and ReasonWrongSource too, for the audit.
func (g *Grants) find(tokenHash string, source netip.Addr) (*run, policy, Reason) {
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.tokens[tokenHash]
	if r == nil || subtle.ConstantTimeCompare([]byte(tokenHash), []byte(r.grant.TokenHash)) != 1 {
		return nil, policy{}, ReasonUnknownToken
	}
	switch {
	case !slices.ContainsFunc(r.grant.PodIPs, func(ip netip.Addr) bool { return ip.Unmap() == source }):
		return r, r.policy, ReasonWrongSource
	case r.expired(now):
		return r, r.policy, ReasonExpired
	}
	return r, r.policy, ""
}

// count makes the counters of a run, when it is first seen.
func (g *Grants) count(r *run, limits Limits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.usage == nil {
		r.usage = newUsage(limits)
	}
}

// await is find for a token whose grant may not have arrived yet. The sandbox learns its token at the moment that the grant is written, and
// the watch that delivers the grant to the proxy lags behind.
func (g *Grants) await(ctx context.Context, tokenHash string, source netip.Addr) (*run, policy, Reason) {
	for {
		g.mu.Lock()
		changed := g.changed
		g.mu.Unlock()
		r, p, reason := g.find(tokenHash, source)
		if reason != ReasonUnknownToken && reason != ReasonExpired {
			return r, p, reason
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, p, reason
		}
	}
}

// enter registers an open connection, if the current grant allows it. It returns the rule that does.
func (g *Grants) enter(r *run, tokenHash string, l *link) (allowlist.Rule, Reason) {
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case r.gone || r.grant.TokenHash != tokenHash:
		return allowlist.Rule{}, ReasonRevoked
	case r.expired(now):
		return allowlist.Rule{}, ReasonExpired
	}
	rule, ok := r.rules.Match(l.host, l.port)
	if !ok {
		return allowlist.Rule{}, ReasonNotAllowed
	}
	l.bound = r.binds(l.host, l.port)
	r.links[l] = struct{}{}
	return rule, ""
}

func (g *Grants) leave(r *run, l *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(r.links, l)
}

// current returns the policy of a run as it is now, if it still counts for the token.
func (g *Grants) current(r *run, tokenHash string) (policy, bool) {
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	return r.policy, !r.gone && r.grant.TokenHash == tokenHash && !r.expired(now)
}

func (p policy) binds(h allowlist.Host, port uint16) bool {
	_, ok := p.bound.Match(h, port)
	return ok
}

func read(gr *grant.Grant) (policy, error) {
	if gr.RunUID == "" || gr.TokenHash == "" || len(gr.PodIPs) == 0 {
		return policy{}, errors.New("runUID, tokenHash and podIPs are required")
	}
	rules, err := allowlist.ParseList(gr.Domains)
	if err != nil {
		return policy{}, fmt.Errorf("domains: %w", err)
	}
	p := policy{grant: gr, rules: rules}
	var held []redact.Secret
	for _, c := range gr.Credentials {
		hosts, err := allowlist.ParseList(c.Hosts)
		if err != nil {
			return policy{}, fmt.Errorf("hosts of the credential %q: %w", c.Name, err)
		}
		p.bound = append(p.bound, hosts...)
		held = append(held, redact.Secret{Name: c.Name, Value: []byte(c.Handle)})
		if c.Exposed {
			for _, part := range redact.Parts(c.Slot, c.Value.Reveal()) {
				held = append(held, redact.Secret{Name: c.Name, Value: bytes.TrimSpace(part)})
			}
		}
	}
	p.held = redact.New(held...)
	switch {
	case gr.CA != nil:
		if _, err := tls.X509KeyPair(gr.CA.Cert, gr.CA.Key.Reveal()); err != nil {
			// The error is not passed on: it may show the text that it could not read, and that is a key.
			return policy{}, errors.New("certificate and key of the CA cannot be read, or do not belong together")
		}
	case len(p.bound) > 0:
		return policy{}, errors.New("credentials are bound to hosts, and there is no CA")
	}
	return p, nil
}
