// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"net"
	"sync"
	"time"
)

// upstream is a connection to a host that ends with a context, and calls a function once when it is closed.
type upstream struct {
	net.Conn
	close func() error
}

func newUpstream(ctx context.Context, conn net.Conn, closed func()) net.Conn {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return &upstream{Conn: conn, close: sync.OnceValue(func() error {
		stop()
		closed()
		return conn.Close()
	})}
}

func (u *upstream) Close() error { return u.close() }

// timed is a connection that fails when nothing moves for a while, in one direction or the other.
type timed struct {
	net.Conn
	idle time.Duration
}

func (c *timed) Read(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Read(p)
}

func (c *timed) Write(p []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Write(p)
}

// counted is the client's side of a connection whose bytes are looked at here. It counts them, and ends when the run has
// moved too many.
type counted struct {
	net.Conn
	x *exchange
	// idle, if it is positive, is how long each read and write may take.
	idle time.Duration
}

func (c *counted) Read(p []byte) (int, error) {
	if c.idle > 0 {
		_ = c.SetReadDeadline(time.Now().Add(c.idle))
	}
	n, err := c.Conn.Read(p)
	if !c.x.moved(toHost, int64(n)) && err == nil {
		err = ended(ReasonBytes)
	}
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	if c.idle > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(c.idle))
	}
	n, err := c.Conn.Write(p)
	if !c.x.moved(toClient, int64(n)) && err == nil {
		err = ended(ReasonBytes)
	}
	return n, err
}

// fetching is the host's side of a connection that a Terminator serves. It counts all bytes that the host sends, also those that the client
// never sees.
type fetching struct {
	net.Conn
	x *exchange
}

func (c *fetching) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.x.fetch(int64(n)) {
		c.x.end(ReasonBytes)
		if err == nil {
			err = ended(ReasonBytes)
		}
	}
	return n, err
}

// answering is a connection to a host that is not read before a request was sent. An http.Transport writes unsolicited bytes to the
// process's log, and the host chooses them: a credential, or lines that look like others.
type answering struct {
	net.Conn
	once  sync.Once
	asked chan struct{}
}

// Answering returns a connection of which nothing is read before something was written to it. It must be closed.
func Answering(conn net.Conn) net.Conn { return &answering{Conn: conn, asked: make(chan struct{})} }

func (c *answering) open() { c.once.Do(func() { close(c.asked) }) }

func (c *answering) Read(p []byte) (int, error) {
	<-c.asked
	return c.Conn.Read(p)
}

func (c *answering) Write(p []byte) (int, error) {
	c.open()
	return c.Conn.Write(p)
}

func (c *answering) Close() error {
	err := c.Conn.Close()
	c.open()
	return err
}
