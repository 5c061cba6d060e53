// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// An idle tunnel that held a kernel pipe would take the user's allowance of pipes from all others.
func TestIdleTunnelHoldsNoPipe(t *testing.T) {
	const tunnels = 20
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			// Without the wrapping the echo would hold pipes too.
			go func() { _, _ = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}) }()
		}
	}()
	w := newWorld(t, nil)
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	w.net.lead("93.184.216.34:443", ln.Addr().String())
	hello := helloOf(t, "example.org")
	before := pipes(t)
	for range tunnels {
		c := w.tunnel("example.org:443")
		if _, err := c.Write(hello); err != nil {
			t.Fatal(err)
		}
		// The hello comes back: bytes have moved both ways.
		if _, err := io.ReadFull(c.r, make([]byte, len(hello))); err != nil {
			t.Fatal(err)
		}
	}
	held := 0
	for late := time.Now().Add(patience); time.Now().Before(late); runtime.Gosched() {
		runtime.GC() // closes pipes that are kept for later
		if held = pipes(t) - before; held < tunnels/2 {
			return
		}
	}
	t.Errorf("%d idle tunnels hold %d ends of pipes", tunnels, held)
}

// pipes counts the ends of pipes that this process has open.
func pipes(t *testing.T) int {
	t.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	return n
}
