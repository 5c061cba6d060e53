// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"io"
	"net"
	"net/netip"
	"testing"

	"motorcortex.dev/motorcortex/internal/egress"
)

// blast lets an address lead to a server that, on the first byte of a connection, answers with n bytes.
func blast(b *testing.B, w *world, at string, n int64) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 4096)); err == nil {
					_, _ = io.CopyBuffer(struct{ io.Writer }{conn}, io.LimitReader(zeros{}, n), make([]byte, 256<<10))
				}
			}()
		}
	}()
	w.net.lead(at, ln.Addr().String())
	return ln.Addr().String()
}

func benchWorld(b *testing.B) *world {
	w := newWorld(b, func(c *egress.Config) {
		c.Logger = nil
		c.Limits = egress.Limits{Requests: 1 << 40, Connections: 1 << 30, Bytes: 1 << 60}
	})
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	return w
}

const blastBytes = 256 << 20

func BenchmarkThroughput(b *testing.B) {
	w := benchWorld(b)
	direct := blast(b, w, "93.184.216.34:443", blastBytes)
	hello := helloOf(b, "example.org")
	read := func(b *testing.B, conn net.Conn) {
		if _, err := conn.Write(hello); err != nil {
			b.Fatal(err)
		}
		if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{conn}, make([]byte, 256<<10)); n != blastBytes {
			b.Fatal(n, err)
		}
		_ = conn.Close()
	}
	b.Run("direct", func(b *testing.B) {
		b.SetBytes(blastBytes)
		for b.Loop() {
			conn, err := net.Dial("tcp", direct)
			if err != nil {
				b.Fatal(err)
			}
			read(b, conn)
		}
	})
	b.Run("tunnel", func(b *testing.B) {
		b.SetBytes(blastBytes)
		for b.Loop() {
			read(b, w.tunnel("example.org:443").Conn)
		}
	})
}

// BenchmarkConnect is the time to the first byte of an answer over a new connection.
func BenchmarkConnect(b *testing.B) {
	w := benchWorld(b)
	direct := blast(b, w, "93.184.216.34:443", 1)
	hello := helloOf(b, "example.org")
	first := func(b *testing.B, conn net.Conn) {
		if _, err := conn.Write(hello); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			b.Fatal(err)
		}
		_ = conn.Close()
	}
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			conn, err := net.Dial("tcp", direct)
			if err != nil {
				b.Fatal(err)
			}
			first(b, conn)
		}
	})
	b.Run("tunnel", func(b *testing.B) {
		for b.Loop() {
			first(b, w.tunnel("example.org:443").Conn)
		}
	})
	b.Run("denied", func(b *testing.B) {
		for b.Loop() {
			c := w.dial()
			c.send(connectTo("evil.test:443"))
			c.answer("CONNECT")
			_ = c.Close()
		}
	})
}
