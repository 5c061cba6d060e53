// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// toHost opens a tunnel to a host that serve serves, and sends the ClientHello, which serve reads as well.
func toHost(t *testing.T, change func(*egress.Config), serve func(conn *net.TCPConn)) (w *world, c *client, hello []byte) {
	t.Helper()
	return toHostOver(t, nil, change, serve)
}

// toHostOver is toHost with a function that sets up each socket.
func toHostOver(t *testing.T, socket control, change func(*egress.Config), serve func(conn *net.TCPConn)) (w *world, c *client, hello []byte) {
	t.Helper()
	ln, err := (&net.ListenConfig{Control: socket}).Listen(t.Context(), "tcp", "127.0.0.1:0")
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
	w = newWorldOf(t, socket, change)
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
	// A socket that holds little takes a part of what the proxy has for it.
	for name, socket := range map[string]control{"large sockets": nil, "sockets of 40 KiB": holding(40 << 10), "small sockets": holding(5 << 10)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passesOnAndCounts(t, socket)
		})
	}
}

func passesOnAndCounts(t *testing.T, socket control) {
	t.Helper()
	const there, back = 9<<20 + 1, 7<<20 + 3
	bytesOf := func(seed byte, n int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{seed}), n) }
	sum := func(r io.Reader) (string, error) {
		h := sha256.New()
		_, err := io.Copy(h, r)
		return fmt.Sprintf("%x", h.Sum(nil)), err
	}
	got := make(chan string, 1)
	w, c, hello := toHostOver(t, socket, nil, func(conn *net.TCPConn) {
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

// floods are connections to a host of which both ends send and do not read.
type floods struct {
	t     *testing.T
	w     *world
	host  string
	hello []byte
	// moved is how many bytes the ends got rid of.
	moved atomic.Int64
}

// newFloods makes a host that sends back the ClientHello, and after that only sends. The name example.org leads to it.
func newFloods(t *testing.T, w *world) *floods {
	t.Helper()
	ln, err := (&net.ListenConfig{Control: w.net.socket}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	f := &floods{t: t, w: w, host: ln.Addr().String(), hello: helloOf(t, "example.org")}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				if _, err := io.CopyN(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}, int64(len(f.hello))); err == nil {
					f.send(conn)
				}
			}()
		}
	}()
	w.net.lead("93.184.216.34:443", f.host)
	return f
}

var chunk [64 << 10]byte

// send sends until the connection ends.
func (f *floods) send(conn net.Conn) {
	for {
		n, err := conn.Write(chunk[:])
		f.moved.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// open opens connections, through the proxy if head is not empty, and waits until nothing moves in any of them.
func (f *floods) open(n int, to string, head []byte) []net.Conn {
	f.t.Helper()
	buf, conns := make([]byte, 8<<10), make([]net.Conn, n)
	for i := range conns {
		conns[i] = opened(f.t, to, head, f.hello, buf)
		_ = conns[i].SetDeadline(time.Time{})
		tcp, _ := conns[i].(*net.TCPConn)
		if err := errors.Join(tcp.SetReadBuffer(4<<10), tcp.SetWriteBuffer(4<<10)); err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { _ = tcp.Close() })
		go f.send(tcp)
	}
	last, still := int64(0), 0
	eventually(f.t, "nothing moves in connections whose ends do not read", func() bool {
		now := f.moved.Load()
		if still++; now != last {
			last, still = now, 0
		}
		return still >= 200
	})
	return conns
}

// A run and its host leave unread what both send, in more tunnels than there are buffers. The run holds its share of large buffers and nothing else.
func TestTunnelsInWhichNeitherEndReadsLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	const tunnels, bytes = egress.MostSmall/2 + 50, 4 << 20
	w := newWorldOf(t, holding(32<<10), func(c *egress.Config) { c.Limits.Connections = tunnels })
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	newFloods(t, w).open(tunnels, w.addr, []byte(connectTo("example.org:443")))
	eventually(t, "the run holds its share of large buffers", func() bool { return egress.LargeInUse(w.server) == egress.MostLargeOfRun })

	other := w.grantOf("example.org")
	mine := grant.Token(key, "uid-2", "pod-2", 1)
	other.RunUID, other.Run, other.PodName, other.PodUID = "uid-2", "another-run", "another-run-motor-sandbox", "pod-2"
	other.TokenHash, other.PodIPs = grant.HashToken(mine), []netip.Addr{elsewhere}
	w.set(other)
	echoes(t, w)
	c := w.dialFrom(elsewhere)
	c.send("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n" + authorization(mine) + "\r\n")
	if a := c.answer(http.MethodConnect); a.status != http.StatusOK {
		t.Fatalf("CONNECT of another run: %s %s", a.phrase, a.body)
	}
	hello := helloOf(t, "example.org")
	if _, err := c.Write(hello); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.CopyN(struct{ io.Writer }{c.Conn}, zeros{}, bytes) }()
	if n, err := io.CopyN(io.Discard, c.r, int64(len(hello))+bytes); err != nil {
		t.Errorf("another run got %d bytes, and then %v", n, err)
	}
}

// Clients that do not read keep no more large buffers than the bound, and those of one run no more than its share. The tunnels of others go on without.
func TestLargeBuffersAreBounded(t *testing.T) {
	t.Parallel()
	s, err := egress.New(egress.Config{Grants: egress.NewGrants(time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // They are given back.
		got := egress.LargeBuffers(s, 5, 40)
		if want := []int{16, 16, 16, 16, 0}; !slices.Equal(got, want) {
			t.Errorf("the runs have %d large buffers, want %d", got, want)
		}
	}
}
