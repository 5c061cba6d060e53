// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
)

// FuzzRequest sends bytes to the proxy as a client with a token, for which "<token>" stands. For all bytes, no name but the allowed one is
// resolved, and only its address is dialed.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		connectTo("example.org:443"), connectTo("evil.test:443"), connectTo("example.org.:443"), connectTo("EXAMPLE.org:443"),
		"CONNECT example.org:443@evil.test:443 HTTP/1.1\r\nHost: example.org:443\r\n" + authorization(token()) + "\r\n",
		"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n" + authorization(token()) + "\r\n",
		"GET http://example.org/ HTTP/1.1\r\nHost: evil.test\r\n" + authorization(token()) + "\r\n",
		"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n" + authorization(token()) + "\r\n",
		"GET http://example.org@evil.test/ HTTP/1.1\r\nHost: example.org\r\n" + authorization(token()) + "\r\n",
		"POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\n" + authorization(token()) +
			"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\n\r\n",
		"POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\n" + authorization(token()) +
			"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"GET /motor/check HTTP/1.1\r\nHost: x\r\n" + authorization(token()) + "\r\n",
		"\r\n\r\n", "GET", "",
		connectTo("example.org:443") + string(plainHello("example.org")),
		connectTo("example.org:443") + string(plainHello("evil.test")),
		connectTo("example.org:443") + string(inRecords(plainHello("example.org"), 3)),
	} {
		f.Add([]byte(seed))
	}
	var asked, dialed sync.Map
	proxy := &world{t: f, clock: &clock{at: time.Now()}}
	grants := egress.NewGrants(proxy.clock.now)
	proxy.grants = grants
	proxy.allow("example.org", "example.org:80")
	s, err := egress.New(egress.Config{
		Grants: grants, Now: time.Now, ForbiddenPrefixes: func() []netip.Prefix { return []netip.Prefix{} },
		Limits: egress.Limits{Requests: 1 << 40, Connections: 1 << 30},
		Resolver: resolverFunc(func(name string) []netip.Addr {
			asked.Store(name, true)
			return []netip.Addr{public}
		}),
		Dial: func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
			dialed.Store(to, true)
			return nil, errors.New("nobody is there")
		},
		Timeouts: egress.Timeouts{Head: 50 * time.Millisecond, Hello: 50 * time.Millisecond, Grant: time.Millisecond, Grace: time.Millisecond},
	})
	if err != nil {
		f.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	f.Cleanup(func() {
		stop()
		<-done
	})
	_, user, _ := strings.Cut(strings.TrimSpace(authorization(token())), "Basic ")
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.ReplaceAll(raw, []byte("<token>"), []byte(user))
		grantAgain := (&world{t: t, clock: &clock{at: time.Now()}, grants: grants})
		grantAgain.allow("example.org", "example.org:80")
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Skip("no connection")
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = conn.Write(raw)
		_ = conn.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
			t.Error("the connection does not end")
		}
		asked.Range(func(name, _ any) bool {
			if name != "example.org." {
				t.Errorf("asked for %q", name)
			}
			return true
		})
		dialed.Range(func(to, _ any) bool {
			if a, _ := to.(netip.AddrPort); a.Addr() != public || a.Port() != 443 && a.Port() != 80 {
				t.Errorf("dialed %v", to)
			}
			return true
		})
	})
}

type resolverFunc func(name string) []netip.Addr

func (f resolverFunc) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	return f(name), nil
}

// FuzzClientHello reads bytes as a ClientHello. One that is accepted has the name in it, and is returned as it came.
func FuzzClientHello(f *testing.F) {
	for _, name := range []string{"example.org", "evil.test", ""} {
		hello := plainHello(name)
		f.Add(hello)
		f.Add(inRecords(hello, 5))
		f.Add(hello[:len(hello)/2])
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{22, 3, 1, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		read, reason := egress.ReadHello(bytes.NewReader(raw), "example.org")
		if reason != "" {
			return
		}
		if !bytes.HasPrefix(raw, read) {
			t.Error("what was read is not what came")
		}
		// The name may be spread over records: their heads are taken out.
		if !strings.Contains(strings.ToLower(string(handshake(read))), "example.org") {
			t.Error("a ClientHello without the name was accepted")
		}
	})
}

// handshake is the content of the records.
func handshake(records []byte) []byte {
	var out []byte
	for len(records) >= 5 {
		n := min(int(records[3])<<8|int(records[4]), len(records)-5)
		out = slices.Concat(out, records[5:5+n])
		records = records[5+n:]
	}
	return out
}

// plainHello is a small ClientHello, the same each time it is made, so that a seed stays what it is.
func plainHello(name string) []byte {
	long := func(b []byte) []byte { return append([]byte{byte(len(b) >> 8), byte(len(b))}, b...) }
	serverName := slices.Concat([]byte{0, 0}, long(long(append([]byte{0}, long([]byte(name))...))))
	body := slices.Concat([]byte{3, 3}, make([]byte, 32), []byte{0}, long([]byte{0x13, 1, 0xc0, 0x2b}), []byte{1, 0}, long(serverName))
	message := append([]byte{1, 0}, long(body)...)
	return append([]byte{22, 3, 1}, long(message)...)
}
