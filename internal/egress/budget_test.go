// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
)

// echoes lets the host send back all that it gets, and returns its address.
func echoes(t testing.TB, w *world) string {
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
				// Without the wrapping, io.Copy would use pipes of its own.
				_, _ = io.CopyBuffer(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}, make([]byte, 4096))
			}()
		}
	}()
	w.net.lead("93.184.216.34:443", ln.Addr().String())
	return ln.Addr().String()
}

// budgeted is a world that writes audit lines, as production does, and has no limits that a test comes to.
func budgeted(t testing.TB) (w *world, host string) {
	t.Helper()
	w = newWorld(t, func(c *egress.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // The lines are made, and thrown away.
		c.Limits = egress.Limits{Requests: 1 << 40, Connections: 1 << 30, Bytes: 1 << 60}
	})
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	return w, echoes(t, w)
}

// opened opens a connection and sends a ClientHello, through the proxy if head is not empty, until the first byte is back. It allocates as
// little as it can.
func opened(t testing.TB, to string, head, hello, buf []byte) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if len(head) > 0 {
		if _, err := conn.Write(head); err != nil {
			t.Fatal(err)
		}
		for n := 0; !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")); {
			got, err := conn.Read(buf[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += got
		}
		if !bytes.HasPrefix(buf, []byte("HTTP/1.1 200 ")) {
			t.Fatalf("%.100q", buf)
		}
	}
	if _, err := conn.Write(hello); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, buf[:len(hello)]); err != nil {
		t.Fatal(err)
	}
	return conn
}

// What the proxy allocates for a new connection is what a client can make it do as often as it likes.
func TestANewConnectionIsWithinItsBudget(t *testing.T) {
	const budget = 200
	w, host := budgeted(t)
	head, hello, buf := []byte(connectTo("example.org:443")), helloOf(t, "example.org"), make([]byte, 8<<10)
	direct := testing.AllocsPerRun(100, func() { _ = opened(t, host, nil, hello, buf).Close() })
	tunnel := testing.AllocsPerRun(100, func() { _ = opened(t, w.addr, head, hello, buf).Close() })
	t.Logf("allocations of a new connection: %g, and %g without the proxy", tunnel, direct)
	if tunnel-direct > budget {
		t.Errorf("the proxy makes %g allocations for a new connection; at most %d are allowed", tunnel-direct, budget)
	}
}

// A chunk that passes through a tunnel costs the same, whatever is in it and however long the tunnel is open.
func TestARelayedChunkIsWithinItsBudget(t *testing.T) {
	const budget = 1
	w, _ := budgeted(t)
	hello, buf := helloOf(t, "example.org"), make([]byte, 8<<10)
	conn := opened(t, w.addr, []byte(connectTo("example.org:443")), hello, buf)
	defer conn.Close()
	chunk := make([]byte, 1<<10)
	there := testing.AllocsPerRun(500, func() {
		if _, err := conn.Write(chunk); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, buf[:len(chunk)]); err != nil {
			t.Fatal(err)
		}
	})
	// It goes to the host and comes back.
	t.Logf("allocations of a chunk: %g", there/2)
	if there/2 > budget {
		t.Errorf("a relayed chunk makes %g allocations; at most %d are allowed", there/2, budget)
	}
}

// A sandbox keeps many connections open on which nothing moves, and so do many sandboxes.
func TestAnIdleTunnelIsWithinItsBudget(t *testing.T) {
	const tunnels, budget = 300, 13 << 10
	w, host := budgeted(t)
	head, hello, buf := []byte(connectTo("example.org:443")), helloOf(t, "example.org"), make([]byte, 8<<10)
	each := func(to string, head []byte) int {
		before := held()
		conns := make([]net.Conn, tunnels)
		for i := range conns {
			conns[i] = opened(t, to, head, hello, buf)
		}
		with := held()
		for _, conn := range conns {
			_ = conn.Close()
		}
		return (with - before) / tunnels
	}
	direct := each(host, nil)
	tunnel := each(w.addr, head)
	t.Logf("bytes of an idle tunnel: %d, and %d without the proxy", tunnel, direct)
	if tunnel-direct > budget {
		t.Errorf("the proxy holds %d bytes for an idle tunnel; at most %d are allowed", tunnel-direct, budget)
	}
}

// A sandbox and a host of its run can leave unread what both send, in as many connections as the run has.
func TestATunnelInWhichNeitherEndReadsIsWithinItsBudget(t *testing.T) {
	const tunnels, budget = 300, 14 << 10
	w := newWorldOf(t, holding(4<<10), func(c *egress.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil)) //nolint:sloglint // The lines are made, and thrown away.
		c.Limits = egress.Limits{Requests: 1 << 40, Connections: 1 << 30, Bytes: 1 << 60}
	})
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	f := newFloods(t, w)
	each := func(to string, head []byte) int {
		before := held()
		conns := f.open(tunnels, to, head)
		with := held()
		for _, conn := range conns {
			_ = conn.Close()
		}
		return (with - before) / tunnels
	}
	direct := each(f.host, nil)
	tunnel := each(w.addr, []byte(connectTo("example.org:443")))
	t.Logf("bytes of a tunnel in which neither end reads: %d, and %d without the proxy", tunnel, direct)
	if tunnel-direct > budget {
		t.Errorf("the proxy holds %d bytes for a tunnel in which neither end reads; at most %d are allowed", tunnel-direct, budget)
	}
}

// held is the memory of objects that are in use and of stacks.
func held() int {
	var m runtime.MemStats
	for range 3 { // Stacks shrink by half each time, and what a pool holds goes at the second time.
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
