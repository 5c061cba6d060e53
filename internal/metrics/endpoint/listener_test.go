// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// accepting returns the address of a listener with bounds, and its connections as they are accepted.
func accepting(t *testing.T, most, mostOf int) (string, <-chan net.Conn) {
	t.Helper()
	plain, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	l, accepted := bounded(plain, most, mostOf), make(chan net.Conn, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	return plain.Addr().String(), accepted
}

// dialFrom connects from an address of the loopback.
func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// closedByServer waits until the server has closed a connection, and reports whether it has.
func closedByServer(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, c)
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	t.Parallel()
	to, accepted := accepting(t, 3, 2)
	first := dialFrom(t, "127.0.0.1", to)
	held := <-accepted
	dialFrom(t, "127.0.0.1", to)
	<-accepted
	if !closedByServer(t, dialFrom(t, "127.0.0.1", to)) {
		t.Fatal("a third connection of an address is open")
	}
	// Another address is let in, until there are too many of all.
	dialFrom(t, "127.0.0.2", to)
	<-accepted
	if !closedByServer(t, dialFrom(t, "127.0.0.3", to)) {
		t.Fatal("a fourth connection is open")
	}
	_ = first.Close()
	for range 2 {
		// A second close must not make room for another one.
		_ = held.Close()
	}
	dialFrom(t, "127.0.0.3", to)
	<-accepted
	if !closedByServer(t, dialFrom(t, "127.0.0.4", to)) {
		t.Fatal("one connection that ended made room for two")
	}
}
