// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
)

// toHost opens a tunnel to a host that serve serves, and sends the ClientHello, which serve reads as well.
func toHost(t *testing.T, change func(*egress.Config), serve func(conn *net.TCPConn)) (w *world, c *client, hello []byte) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn))
			}()
		}
	}()
	w = newWorld(t, change)
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	w.net.lead("93.184.216.34:443", ln.Addr().String())
	hello = helloOf(t, "example.org")
	c = w.tunnel("example.org:443")
	if _, err := c.Write(hello); err != nil {
		t.Fatal(err)
	}
	return w, c, hello
}

// Many bytes arrive as they were sent, in both directions at once, and each is counted once. An end of one direction leaves the other one open.
func TestATunnelPassesOnAndCountsAllBytes(t *testing.T) {
	const there, back = 9<<20 + 1, 7<<20 + 3
	bytesOf := func(seed byte, n int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{seed}), n) }
	sum := func(r io.Reader) (string, error) {
		h := sha256.New()
		_, err := io.Copy(h, r)
		return fmt.Sprintf("%x", h.Sum(nil)), err
	}
	got := make(chan string, 1)
	w, c, hello := toHost(t, nil, func(conn *net.TCPConn) {
		if _, err := io.ReadFull(conn, make([]byte, len(helloOf(t, "example.org")))); err != nil {
			return
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.Copy(struct{ io.Writer }{conn}, bytesOf(2, back/2))
		}()
		what, err := sum(struct{ io.Reader }{conn})
		<-sent
		// The client has ended its direction, and gets the rest all the same.
		rest := bytesOf(2, back)
		if _, skipped := io.CopyN(io.Discard, rest, back/2); skipped == nil && err == nil {
			_, _ = io.Copy(struct{ io.Writer }{conn}, rest)
		}
		got <- what
	})
	received := make(chan string, 1)
	go func() {
		what, err := sum(c.r)
		received <- what + fmt.Sprint(err)
	}()
	if _, err := io.Copy(struct{ io.Writer }{c.Conn}, bytesOf(1, there)); err != nil {
		t.Fatal(err)
	}
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if want, err := sum(bytesOf(1, there)); <-got != want || err != nil {
		t.Error("the host got other bytes")
	}
	if want, err := sum(bytesOf(2, back)); <-received != want+"<nil>" || err != nil {
		t.Error("the client got other bytes")
	}
	line := fmt.Sprintf(`"verdict":"end","reason":"closed","sent":%d,"received":%d,`, there+len(hello), int64(back))
	eventually(t, "all bytes are counted: "+line, func() bool { return strings.Contains(w.log.String(), line) })
}

// A client that ends its own direction and reads nothing would otherwise keep the connection, with the bytes that the proxy has read for it.
func TestATunnelWhoseClientDoesNotReadIsIdle(t *testing.T) {
	t.Parallel()
	w, c, _ := toHost(t, func(c *egress.Config) { c.Timeouts.Idle = 200 * time.Millisecond }, func(conn *net.TCPConn) {
		_, _ = io.Copy(struct{ io.Writer }{conn}, zeros{}) // Until it is closed.
	})
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tunnel ends", func() bool { return strings.Contains(w.log.String(), `"verdict":"end","reason":"idle_timeout"`) })
}

// A tunnel that moves something in one direction is not idle, and one in which nothing moves is.
func TestATunnelIsIdleWhenNothingMovesInEitherDirection(t *testing.T) {
	t.Parallel()
	const idle, times = 3 * time.Second, 7
	w, c, _ := toHost(t, func(c *egress.Config) { c.Timeouts.Idle = idle }, func(conn *net.TCPConn) {
		tick := time.NewTicker(idle / 5)
		defer tick.Stop()
		for range times {
			<-tick.C
			if _, err := conn.Write([]byte{1}); err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, conn)
	})
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if n, err := io.Copy(io.Discard, c.r); n != times || isTimeout(err) {
		t.Errorf("%d bytes came, and then %v", n, err)
	}
	eventually(t, "the tunnel ends", func() bool { return strings.Contains(w.log.String(), `"verdict":"end","reason":"idle_timeout"`) })
}

// A host that breaks off ends both directions.
func TestATunnelEndsWithItsHost(t *testing.T) {
	t.Parallel()
	_, c, _ := toHost(t, nil, func(conn *net.TCPConn) { _ = conn.SetLinger(0) })
	isClosed(t, c.Conn)
	if _, err := c.Write([]byte{1}); err == nil {
		_, err = c.Read(make([]byte, 1))
		if err == nil || isTimeout(err) {
			t.Errorf("the connection is open: %v", err)
		}
	}
}

// Clients that do not read keep no more large buffers than the bound, and the tunnels of others go on without.
func TestLargeBuffersAreBounded(t *testing.T) {
	t.Parallel()
	s, err := egress.New(egress.Config{Grants: egress.NewGrants(time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // They are given back.
		if n := egress.LargeBuffers(s, 3*egress.MostLarge); n != egress.MostLarge {
			t.Errorf("%d large buffers, want %d", n, egress.MostLarge)
		}
	}
}
