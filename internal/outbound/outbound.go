// SPDX-License-Identifier: Apache-2.0

// Package outbound connects the manager with hosts that a tenant names: models, search providers, registries, and sources served by Flux. The
// manager can reach hosts that a tenant cannot, such as the API server and every Pod. So it must not connect to every requested host.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/address"
)

const (
	dialTimeout = 5 * time.Second
	tlsTimeout  = 10 * time.Second
	// maxHeaderBytes bounds the headers of an answer.
	maxHeaderBytes = 64 << 10
	// networksFor is how long the known networks of the cluster are valid.
	networksFor = 30 * time.Second
)

// ErrRefused reports that a host has an address that the manager does not connect to.
var ErrRefused = errors.New("the address is none that the manager connects with for a namespace")

// Networks are those of the cluster.
type Networks struct {
	// Own are the addresses of nodes and of the API server, and those that the installation forbids.
	Own []netip.Prefix
	// Inner are those of Pods and Services, and the addresses at which Services are reached from outside.
	Inner []netip.Prefix
}

// Guard decides which addresses the manager connects to.
type Guard struct {
	// Cluster allows connections to Pods and Services.
	Cluster bool
	// Allowed are further networks, whatever is in them.
	Allowed []netip.Prefix
	// Networks reads those of the cluster. No connection is made before the first successful read.
	Networks func(context.Context) (Networks, error)
	// HeaderTimeout is how long a host may take until it begins to answer; with 0, only the limit of the request applies.
	HeaderTimeout time.Duration

	mu    sync.Mutex
	known Networks
	read  time.Time
}

// Judge returns ErrRefused for an address that must not be connected to. It judges the address itself, not the name: a name can resolve to
// another address between two look-ups.
//
// Judge refuses loopback, link-local, metadata and unassigned addresses, and nodes, the API server, and, without
// g.Cluster, Pods and Services. Other private networks belong to the company that runs the cluster.
func (g *Guard) Judge(a netip.Addr, networks Networks) error {
	a = a.Unmap()
	within := func(list []netip.Prefix) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool { return address.Unmap(p).Contains(a.WithZone("")) })
	}
	if within(g.Allowed) {
		return nil
	}
	if within(networks.Own) {
		return ErrRefused
	}
	if within(networks.Inner) {
		if g.Cluster {
			return nil
		}
		return ErrRefused
	}
	switch class, _ := address.Judge(a, nil); class {
	case address.Global, address.Private, address.Shared:
		return nil
	}
	return ErrRefused
}

// Inside reports whether an address is of the cluster or of another network that is not the Internet, as far as the networks of the cluster are known.
func (g *Guard) Inside(a netip.Addr) bool {
	g.mu.Lock()
	known := g.known
	g.mu.Unlock()
	_, global := address.Judge(a.Unmap(), slices.Concat(known.Own, known.Inner))
	return !global
}

// DialContext connects like net.Dialer, to addresses that are not refused.
func (g *Guard) DialContext(ctx context.Context, network, to string) (net.Conn, error) {
	networks, err := g.networks(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the networks of the cluster: %w", err)
	}
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return ErrRefused
		}
		return g.Judge(at.Addr(), networks)
	}}
	return dialer.DialContext(ctx, network, to)
}

// networks returns those of the cluster as they were read last, at most networksFor ago if they can be read.
func (g *Guard) networks(ctx context.Context) (Networks, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.read.IsZero() && time.Since(g.read) < networksFor {
		return g.known, nil
	}
	now, err := g.Networks(ctx)
	if err != nil {
		if g.read.IsZero() {
			return Networks{}, err
		}
		return g.known, nil
	}
	g.known, g.read = now, time.Now()
	return now, nil
}

// Transport returns a new Guarded transport.
func (g *Guard) Transport() *http.Transport {
	return g.Guarded(&http.Transport{
		ForceAttemptHTTP2: true, MaxIdleConns: 100, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: tlsTimeout,
		ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: maxHeaderBytes,
	})
}

// Guarded restricts the transport to connections that g allows, including those that redirects and token realms lead to. A proxy that
// the manager's environment names belongs to the installation: it may have any address, and decides about the requests from there.
func (g *Guard) Guarded(t *http.Transport) *http.Transport {
	plain := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	var proxies sync.Map
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		u, err := http.ProxyFromEnvironment(r)
		if u != nil {
			proxies.Store(hostPort(u), true)
		}
		return u, err
	}
	t.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		if _, isProxy := proxies.Load(to); isProxy {
			return plain.DialContext(ctx, network, to)
		}
		return g.DialContext(ctx, network, to)
	}
	t.ResponseHeaderTimeout = g.HeaderTimeout
	return t
}

// hostPort returns the address that a transport dials for a proxy.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
