// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/address"
)

// dialTries is how many addresses of a host are tried.
const dialTries = 4

// newResolver makes the resolver of Go itself: the one of the C library may look up other names than the given one.
func newResolver(server string) (*net.Resolver, error) {
	r := &net.Resolver{PreferGo: true}
	if server == "" {
		return r, nil
	}
	to, err := netip.ParseAddrPort(server)
	if err != nil {
		return nil, fmt.Errorf("the DNS server must be IP:port: %w", err)
	}
	r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, to.String())
	}
	return r, nil
}

func dialTCP(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	// The dialer gets a literal address only: it has nothing to look up.
	return (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
}

// resolve looks up the addresses of the host once and judges all of them. One forbidden address refuses the whole name: an attacker mixes
// it with others in the hope that the proxy dials the forbidden one.
func (x *exchange) resolve(ctx context.Context) ([]netip.Addr, Reason) {
	s := x.server
	if reason := x.session.run.usage.name(s.now(), x.target.Host); reason != "" {
		return nil, reason
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.Resolve)
	defer cancel()
	begun := time.Now()
	// The dot makes the name absolute. Without it the search domains of the cluster are tried.
	addrs, err := s.resolver.LookupNetIP(ctx, "ip", x.target.Host.String()+".")
	s.metrics.resolve.Observe(time.Since(begun).Seconds())
	if err != nil || len(addrs) == 0 || len(addrs) > s.limits.Answers {
		return nil, ReasonResolve
	}
	return addrs, x.judge(addrs)
}

// judge reports whether all addresses may be dialed now.
func (x *exchange) judge(addrs []netip.Addr) Reason {
	if !x.server.isReady() {
		return ReasonNotReady
	}
	forbidden := x.server.prefixes()
	for _, a := range addrs {
		if class, ok := address.Judge(a, forbidden); !ok {
			x.reached(a, class)
			return ReasonAddress
		}
	}
	return ""
}

// dial connects with one of the addresses that were judged. Nothing is looked up again.
func (x *exchange) dial(ctx context.Context, addrs []netip.Addr) (net.Conn, Reason) {
	if reason := x.judge(addrs); reason != "" {
		return nil, reason
	}
	s := x.server
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.Dial)
	defer cancel()
	addrs = addrs[:min(len(addrs), dialTries)]
	each := s.timeouts.Dial / time.Duration(len(addrs))
	begun := time.Now()
	defer func() { s.metrics.dial.Observe(time.Since(begun).Seconds()) }()
	for _, a := range addrs {
		try, stop := context.WithTimeout(ctx, each)
		conn, err := s.dialTCP(try, netip.AddrPortFrom(a, x.target.Port))
		stop()
		if err == nil {
			x.reached(a, "")
			return conn, ""
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, ReasonDial
}

// errRefused is the error of a Terminator for a connection that was refused.
var errRefused = errors.New("the egress proxy refused the connection")

// dialer opens connections to the host for a Terminator. Each counts for the run's limits until it is closed, and ends with ctx;
// so does the dialing, which an http.Transport goes on with after its request has ended.
func (x *exchange) dialer(ctx context.Context, addrs []netip.Addr) DialFunc {
	return func(dialing context.Context) (net.Conn, error) {
		dialing, cancel := context.WithCancel(dialing)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		usage := x.session.run.usage
		reason := whyEnded(ctx, "")
		if reason == "" {
			reason = usage.enter(x.server.now())
		}
		if reason != "" {
			return nil, fmt.Errorf("%w: %s", errRefused, reason)
		}
		conn, reason := x.dial(dialing, addrs)
		if reason != "" {
			usage.leave()
			return nil, fmt.Errorf("%w: %s", errRefused, reason)
		}
		return newUpstream(ctx, &fetching{Conn: conn, x: x}, usage.leave), nil
	}
}
