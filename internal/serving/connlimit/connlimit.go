// SPDX-License-Identifier: Apache-2.0

// Package connlimit bounds the connections of a server, and decides which one gives its place to a new one.
//
// A server that refuses connections while it is full, or waits for the end of one, is closed to its clients by a stranger who holds all places. So
// a new connection always gets a place, if there is one that can give its own:
//
//  1. Of connections whose client has not shown who it is, the oldest of the address that has most of them.
//  2. Of those whose client has, the one that has waited longest for its next request.
//
// A stranger who floods the server from few addresses takes places from itself alone. From many addresses it must open as many connections as there
// are places in the time that a client takes to show who it is. A request of a client that has shown it is never broken off: if each place has
// one, the new connection waits for an end.
package connlimit

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// Listener is a listener that has a bounded number of open connections.
type Listener struct {
	net.Listener
	most int

	mu sync.Mutex
	// change is signalled when a connection ends or waits for a request, and when the listener is closed.
	change *sync.Cond
	open   []*conn
	// strangers counts the connections of each source whose client has not shown who it is.
	strangers map[netip.Prefix]int
	// clock counts what happened, to tell which was first.
	clock  uint64
	closed bool
}

// New returns a listener that has at most so many open connections at once. The server that accepts from it must be given to Watch.
func New(from net.Listener, most int) *Listener {
	l := &Listener{Listener: from, most: most, strangers: map[netip.Prefix]int{}}
	l.change = sync.NewCond(&l.mu)
	return l
}

// Watch has a server tell how its connections stand, and lets Known find the connection of a request. The server must not use its ConnState and
// ConnContext otherwise, and must serve one request of a connection at a time, as HTTP/1.1 does.
func (l *Listener) Watch(s *http.Server) {
	s.ConnState = func(c net.Conn, now http.ConnState) {
		if c := ours(c); c != nil {
			c.stands(now)
		}
	}
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, ours(c)) }
}

// key is the key of a request's connection in its context.
type key struct{}

// Known notes that the client of a request has shown who it is. The context is that of the request. It does nothing for a server that no Listener
// watches.
func Known(ctx context.Context) {
	if c, _ := ctx.Value(key{}).(*conn); c != nil {
		c.shown()
	}
}

// Accept waits for a connection, and makes place for it.
func (l *Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, of: l, from: sourceOf(accepted)}
	if !l.enter(c) {
		_ = accepted.Close() // The listener is closed.
		return nil, net.ErrClosed
	}
	return c, nil
}

// enter lets a connection in when there is a place for it, and reports whether the listener is open.
func (l *Listener) enter(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) >= l.most && !l.closed {
		gives := l.next()
		if gives == nil {
			l.change.Wait()
			continue
		}
		l.remove(gives)
		// The server learns of it by an error, and closes the connection for itself.
		_ = gives.Conn.Close()
	}
	if l.closed {
		return false
	}
	c.at, c.since = len(l.open), l.tick()
	l.open = append(l.open, c)
	l.strangers[c.from]++
	return true
}

// next returns the connection that gives its place to a new one, nil if none can. The lock is held.
func (l *Listener) next() (next *conn) {
	for _, c := range l.open {
		if (!c.known || !c.busy) && (next == nil || l.before(c, next)) {
			next = c
		}
	}
	return next
}

// before reports whether a gives its place before b. The lock is held.
func (l *Listener) before(a, b *conn) bool {
	if a.known != b.known {
		return b.known
	}
	if of, most := l.strangers[a.from], l.strangers[b.from]; !a.known && of != most {
		return of > most
	}
	return a.since < b.since
}

// remove takes a connection out of the listener, unless it is out already. The lock is held.
func (l *Listener) remove(c *conn) {
	if c.at >= len(l.open) || l.open[c.at] != c {
		return
	}
	if !c.known {
		l.forget(c)
	}
	last := len(l.open) - 1
	l.open[c.at] = l.open[last]
	l.open[c.at].at = c.at
	l.open[last] = nil
	l.open = l.open[:last]
	l.change.Signal()
}

// forget no longer counts a connection of a stranger. The lock is held.
func (l *Listener) forget(c *conn) {
	if l.strangers[c.from]--; l.strangers[c.from] == 0 {
		delete(l.strangers, c.from)
	}
}

func (l *Listener) tick() uint64 {
	l.clock++
	return l.clock
}

// Close closes the listener. Its connections stay open.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// conn is a connection of a listener. All but Conn is guarded by the lock of the listener.
type conn struct {
	net.Conn
	of   *Listener
	from netip.Prefix
	// at is its place among the open ones.
	at int
	// since is when it came or, once known, when it began to wait for a request.
	since uint64
	// known is true when its client has shown who it is, and busy while it has a request.
	known, busy bool
}

// stands notes how the server says that the connection stands.
func (c *conn) stands(now http.ConnState) {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	c.busy = now == http.StateActive
	if c.known && now == http.StateIdle {
		c.since = l.tick()
		l.change.Signal()
	}
}

// shown notes that the client has shown who it is.
func (c *conn) shown() {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.known || c.at >= len(l.open) || l.open[c.at] != c {
		return
	}
	c.known = true
	l.forget(c)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets the server end an answer to a client that still sends. Without it the connection is reset, and the answer can be lost.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// ours returns the connection of a Listener below that of a server, nil if there is none.
func ours(c net.Conn) *conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	found, _ := c.(*conn)
	return found
}

// sourceOf returns the source of a connection.
func sourceOf(c net.Conn) netip.Prefix { return Source(c.RemoteAddr().String()) }

// Source returns the address of a client that has an address with a port, the invalid one if it has none. One host can have all addresses of a network of
// IPv6, which count as one.
func Source(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	const network = 64
	address := at.Addr().Unmap().WithZone("")
	source, err := address.Prefix(min(network, address.BitLen()))
	if err != nil {
		return netip.Prefix{}
	}
	return source
}
