// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"net"
	"net/netip"
	"sync"
)

// listener closes the connections that are too many at once. It never waits: a listener that accepts nothing while it is full would let clients
// that hold their connections keep a Prometheus out.
type listener struct {
	net.Listener
	// most is how many connections are open at once, and mostOf how many of them one address has.
	most, mostOf int

	mu   sync.Mutex
	open int
	of   map[netip.Addr]int
}

// bounded returns the listener with bounds on its connections.
func bounded(to net.Listener, most, mostOf int) net.Listener {
	return &listener{Listener: to, most: most, mostOf: mostOf, of: map[netip.Addr]int{}}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addressOf(c)
		if !l.enter(from) {
			_ = c.Close() // The client learns no more than that.
			continue
		}
		return &conn{Conn: c, leave: sync.OnceFunc(func() { l.left(from) })}, nil
	}
}

func (l *listener) enter(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most || l.of[from] >= l.mostOf {
		return false
	}
	l.open++
	l.of[from]++
	return true
}

func (l *listener) left(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.of[from]--; l.of[from] == 0 {
		delete(l.of, from)
	}
}

// conn tells the listener once that it is closed.
type conn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// addressOf returns the address of a client, the invalid one if it has none.
func addressOf(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// CloseWrite lets the server end an answer to a client that still sends. Without it the connection is reset, and the answer can be lost.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
