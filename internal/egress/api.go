// SPDX-License-Identifier: Apache-2.0

// Package egress is the forward proxy that is the only way out of a sandbox.
//
// Everything that a client sends is hostile. A connection carries one request, and goes this way:
//
//	head ─► strict parse ─► who: token and source address ─► limits ─► rule ─► resolve once ─► judge every address
//	                                                                              │
//	CONNECT: 200 ─► ClientHello names the same host ─► dial the judged address ─► tunnel, or Terminator
//	http://:                                           dial the judged address ─► one request, one answer
//
// Each arrow is a refusal with a Reason of its own, a metric and an audit line. The same allowlist.Host is looked up, resolved, dialed,
// compared with the server name and logged: no second parser sees the client's bytes.
//
// The package does not depend on Kubernetes: Grants holds which clients may pass, and its caller fills it.
package egress

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	// LookupNetIP is asked for a name with a dot at its end, so that no search domain is added to it.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Target is the destination of a client, and the rule that allows it.
type Target struct {
	Host allowlist.Host
	Port uint16
	Rule allowlist.Rule
}

// DialFunc opens a connection to the host of a Target. Its addresses were resolved and judged once, when the client was let in; the
// judgement is repeated with the addresses that are forbidden now. Each call counts as a connection of the run while it is open.
type DialFunc func(ctx context.Context) (net.Conn, error)

// Terminator serves a connection that the client believes to be TLS to a Target.
type Terminator interface {
	// Serve acts as the host until the client or the grant ends it: ctx is done and conn is closed once the grant does not allow the
	// connection any more. The ClientHello was checked before: it names the host, and conn replays it. Serve closes conn, and does not return
	// before everything it started has ended.
	Serve(ctx context.Context, conn net.Conn, target Target, s *Session, dial DialFunc) error
}

// Reporter reports a refusal to people. It must not block.
type Reporter interface {
	Denied(g *grant.Grant, d Denial)
}

// Denial is a refusal.
type Denial struct {
	Reason Reason
	Host   string
	Port   uint16
	// Credential is the name of the credential that was misused, if one was.
	Credential string
}

// Config holds the dependencies and limits of a Server.
type Config struct {
	// Grants holds which clients may pass. Required.
	Grants *Grants
	// Ready reports whether the grants and the forbidden prefixes were read. Everything is refused until it is true. Nil: always.
	Ready func() bool
	// ForbiddenPrefixes returns the addresses of the cluster, which are refused besides all special ones. While it is nil or returns nil,
	// everything is refused; an empty list is a valid result.
	ForbiddenPrefixes func() []netip.Prefix

	// Resolver is asked for addresses. Nil: the resolver of the system, or DNSServer.
	Resolver Resolver
	// DNSServer is the IP:port of the only DNS server that is asked; "" means those of /etc/resolv.conf.
	DNSServer string
	// Dial opens a connection to a judged address. Nil: TCP.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Terminator serves hosts that a credential is bound to. While it is nil they are refused.
	Terminator Terminator
	// Reporter receives refusals that a client has caused: the misuse of a credential and a token from the wrong Pod. May be nil.
	Reporter Reporter

	// Now is the clock for grants and limits. Nil: time.Now.
	Now func() time.Time
	// Logger gets the audit lines, with the message "egress". Nil discards.
	Logger *slog.Logger
	// Registerer gets the metrics. Nil: they are not shown.
	Registerer prometheus.Registerer

	// Limits bound the resources that a run and a client may use. Zero fields mean the defaults.
	Limits Limits
	// Timeouts bound every wait. Zero fields mean the defaults.
	Timeouts Timeouts
}

// Limits bound the resources that a run and a client may use.
type Limits struct {
	// Connections is how many connections a run has open at once (64).
	Connections int
	// Requests is how many requests a run makes within a minute, and at once (600).
	Requests int
	// Names is how many new host names a run may resolve within a minute (60). It bounds the data that a run can send to the DNS servers of a
	// host in the names below a wildcard.
	Names int
	// Bytes is how much a run moves within an hour, both directions together (8 GiB).
	Bytes int64
	// Unauthenticated is how many connections of one source address may be open that have not shown a token yet (128).
	Unauthenticated int
	// Heads is how many bytes the heads of such connections may take together, beyond the first 4 KiB of each (1 MiB).
	Heads int
	// TotalHeads is the same of all sources together (64 MiB). Half of it is for sources that hold no more than one head.
	TotalHeads int
	// Waiting is how many connections of one source address may wait for their grant to arrive (8).
	Waiting int
	// Total is how many connections the proxy has open at once (16384).
	Total int
	// Answers is how many addresses of a name are looked at; a name with more is refused (32).
	Answers int
}

// Timeouts bound every wait.
type Timeouts struct {
	// Head is how long the head of a request may take (10 s).
	Head time.Duration
	// Hello is how long a ClientHello may take (10 s).
	Hello time.Duration
	// Grant is how long a connection with an unknown token waits for its grant, because a watch lags behind (2 s).
	Grant time.Duration
	// Resolve is how long a name may take (10 s).
	Resolve time.Duration
	// Dial is how long all addresses of a host may take together (30 s).
	Dial time.Duration
	// Idle is how long a connection may be open on which nothing moves (5 min).
	Idle time.Duration
	// Grace is how long open connections go on after the server began to stop (20 s).
	Grace time.Duration
	// Sweep is how often expired grants are looked for (1 s).
	Sweep time.Duration
}

func (l Limits) complete() Limits {
	l.Connections = or(l.Connections, 64)
	l.Requests = or(l.Requests, 600)
	l.Names = or(l.Names, 60)
	l.Bytes = or(l.Bytes, 8<<30)
	l.Unauthenticated = or(l.Unauthenticated, 128)
	l.Heads = or(l.Heads, 1<<20)
	l.TotalHeads = or(l.TotalHeads, 64<<20)
	l.Waiting = or(l.Waiting, 8)
	l.Total = or(l.Total, 16384)
	l.Answers = or(l.Answers, 32)
	return l
}

func (t Timeouts) complete() Timeouts {
	t.Head = or(t.Head, 10*time.Second)
	t.Hello = or(t.Hello, 10*time.Second)
	t.Grant = or(t.Grant, 2*time.Second)
	t.Resolve = or(t.Resolve, 10*time.Second)
	t.Dial = or(t.Dial, 30*time.Second)
	t.Idle = or(t.Idle, 5*time.Minute)
	t.Grace = or(t.Grace, 20*time.Second)
	t.Sweep = or(t.Sweep, time.Second)
	return t
}

// or is value, or otherwise if value is not positive.
func or[T int | int64 | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}
