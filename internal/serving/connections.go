// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// maxConnections is how many connections a server has at once.
const maxConnections = 2048

// connections is a listener that accepts no more than it has room for. A connection that waits for a request gives its place to a new one: a stranger who
// opens very many keeps no one out for longer than a request may take. Without a bound they would take the memory of the server.
type connections struct {
	net.Listener
	most int

	mu   sync.Mutex
	room *sync.Cond
	open int
	// idle are those that wait for a request, the longest first.
	idle   *list.List
	at     map[net.Conn]*list.Element
	closed bool
}

func newConnections(l net.Listener, most int) *connections {
	c := &connections{Listener: l, most: most, idle: list.New(), at: map[net.Conn]*list.Element{}}
	c.room = sync.NewCond(&c.mu)
	return c
}

// Accept waits for room, and then for a connection.
func (c *connections) Accept() (net.Conn, error) {
	if !c.take() {
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		c.give()
		return nil, err
	}
	return &connection{Conn: conn, of: c}, nil
}

// take takes a place, and reports whether the listener is open.
func (c *connections) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.most && !c.closed {
		longest := c.idle.Front()
		if longest == nil {
			c.room.Wait()
			continue
		}
		conn := c.forget(longest)
		// Closing releases the place, which takes the lock.
		c.mu.Unlock()
		_ = conn.Close() // It is of no further use, whatever closing it comes to.
		c.mu.Lock()
	}
	if c.closed {
		return false
	}
	c.open++
	return true
}

func (c *connections) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	c.room.Signal()
}

// forget takes a connection out of those that wait. The lock is held.
func (c *connections) forget(e *list.Element) net.Conn {
	conn := c.idle.Remove(e).(net.Conn)
	delete(c.at, conn)
	return conn
}

// Close closes the listener.
func (c *connections) Close() error {
	c.mu.Lock()
	c.closed = true
	c.room.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// state is told by the server how a connection stands.
func (c *connections) state(conn net.Conn, now http.ConnState) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[conn]; e != nil {
		c.forget(e)
	}
	if now == http.StateIdle {
		c.at[conn] = c.idle.PushBack(conn)
		c.room.Signal()
	}
}

// connection releases its place when it is closed.
type connection struct {
	net.Conn
	of   *connections
	once sync.Once
}

func (c *connection) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.of.give)
	return err
}
