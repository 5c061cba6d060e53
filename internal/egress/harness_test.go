// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/test/printed"
)

const (
	// patience is how long a test waits for an event that must come. Everything is on this machine and takes milliseconds.
	patience = 20 * time.Second
	runUID   = "uid-1"
)

var (
	key       = []byte("a key of the manager, for tests!")
	public    = netip.MustParseAddr("93.184.216.34")
	public2   = netip.MustParseAddr("93.184.216.35")
	localhost = netip.MustParseAddr("127.0.0.1")
	elsewhere = netip.MustParseAddr("127.0.0.2")
)

// world is a proxy, and an Internet that leads to listeners of the test.
type world struct {
	t      testing.TB
	server *egress.Server
	grants *egress.Grants
	addr   string
	clock  *clock
	names  *names
	net    *internet
	log    *printed.Text
	people *people
	reg    *prometheus.Registry
	stop   context.CancelFunc
	done   chan error
}

func newWorld(t testing.TB, change func(*egress.Config)) *world {
	t.Helper()
	return newWorldOf(t, nil, change)
}

// newWorldOf is newWorld with a function that sets up each socket of the proxy and of its clients.
func newWorldOf(t testing.TB, socket control, change func(*egress.Config)) *world {
	t.Helper()
	w := &world{
		t: t, clock: &clock{at: time.Now()}, names: &names{answers: map[string][][]netip.Addr{}}, log: &printed.Text{},
		net: &internet{to: map[netip.AddrPort]string{}, socket: socket}, people: &people{}, reg: prometheus.NewRegistry(),
		done: make(chan error, 1),
	}
	w.grants = egress.NewGrants(w.clock.now)
	cfg := egress.Config{
		Grants: w.grants, Resolver: w.names, Dial: w.net.dial, Reporter: w.people, Now: w.clock.now, Registerer: w.reg,
		Logger:            slog.New(slog.NewJSONHandler(w.log, nil)),
		ForbiddenPrefixes: func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("203.0.112.0/24")} },
		Timeouts: egress.Timeouts{
			Grant: 50 * time.Millisecond, Head: patience, Hello: patience, Grace: 100 * time.Millisecond,
			Sweep: 10 * time.Millisecond,
		},
	}
	if change != nil {
		change(&cfg)
	}
	s, err := egress.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.server = s
	ln, err := (&net.ListenConfig{Control: socket}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = ln.Addr().String()
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	go func() { w.done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		w.stop()
		select {
		case err := <-w.done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the proxy did not end")
		}
	})
	return w
}

// grantOf makes a grant for 127.0.0.1 with these domains.
func (w *world) grantOf(domains ...string) *grant.Grant {
	return &grant.Grant{
		RunUID: runUID, Namespace: "agents", Run: "a-run", PodName: "a-run-motor-sandbox", PodUID: "pod-1",
		PodIPs: []netip.Addr{localhost}, TokenHash: grant.HashToken(token()), Domains: domains,
		ExpiresAt: w.clock.now().Add(grant.Lifetime),
	}
}

func (w *world) allow(domains ...string) {
	w.t.Helper()
	w.set(w.grantOf(domains...))
}

func (w *world) set(g *grant.Grant) {
	w.t.Helper()
	if err := w.grants.Set(g); err != nil {
		w.t.Fatal(err)
	}
}

func token() string { return grant.Token(key, runUID, "pod-1", 1) }

func authorization(token string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(grant.User+":"+token)) + "\r\n"
}

// client is a raw connection to the proxy.
type client struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func (w *world) dial() *client { return w.dialFrom(localhost) }

func (w *world) dialFrom(source netip.Addr) *client {
	w.t.Helper()
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), Control: w.net.socket}
	conn, err := d.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	w.t.Cleanup(func() { _ = conn.Close() })
	return &client{Conn: conn, t: w.t, r: bufio.NewReader(conn)}
}

func (c *client) send(s string) {
	c.t.Helper()
	// A refusal may come, and the connection end, while the request is still being written.
	_, _ = io.WriteString(c.Conn, s)
}

// answer is an answer of the proxy.
type answer struct {
	status int
	phrase string
	reason string
	header http.Header
	body   string
}

func (c *client) answer(method string) answer {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	a := answer{status: resp.StatusCode, phrase: resp.Status, reason: resp.Header.Get("Motor-Denied"), header: resp.Header}
	if method != http.MethodConnect || resp.StatusCode != http.StatusOK {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			c.t.Fatalf("read the answer: %v", err)
		}
		_ = resp.Body.Close()
		a.body = string(b)
	}
	return a
}

// raw sends a whole request and returns the answer.
func (w *world) raw(request string) answer {
	w.t.Helper()
	c := w.dial()
	defer c.Close() // A test that asks again and again would come to the bound of its source otherwise.
	c.send(request)
	method, _, _ := strings.Cut(request, " ")
	return c.answer(method)
}

func connectTo(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n" + authorization(token()) + "\r\n"
}

// tunnel opens a tunnel and fails the test if it is refused.
func (w *world) tunnel(target string) *client {
	w.t.Helper()
	c := w.dial()
	c.send(connectTo(target))
	if a := c.answer(http.MethodConnect); a.status != http.StatusOK {
		w.t.Fatalf("CONNECT %s: %s %s", target, a.phrase, a.body)
	}
	return c
}

// secure speaks TLS to the host, and fails the test if that is not possible.
func (c *client) secure(name string) *tls.Conn {
	c.t.Helper()
	conn := tls.Client(c.Conn, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		c.t.Fatalf("TLS to %s: %v", name, err)
	}
	return conn
}

// get asks a host over an open connection, and leaves that open.
func get(t testing.TB, conn net.Conn, host, path string) string {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("ask %s: %v", host, err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return string(b)
}

// isClosed waits until the other side closed the connection.
func isClosed(t testing.TB, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
		t.Fatal("the connection is still open")
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// site makes an HTTPS server, and lets an address and port lead to it.
func (w *world) site(at string, h http.Handler) {
	s := httptest.NewTLSServer(h)
	w.t.Cleanup(s.Close)
	w.net.lead(at, s.Listener.Addr().String())
}

// plainSite makes an HTTP server, and lets an address and port lead to it.
func (w *world) plainSite(at string, h http.Handler) {
	s := httptest.NewServer(h)
	w.t.Cleanup(s.Close)
	w.net.lead(at, s.Listener.Addr().String())
}

func says(text string) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, text) })
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("it did not come to this: %s", what)
		}
	}
}

// nothingLeft fails if a name was asked for or an address dialed.
func (w *world) nothingLeft() {
	w.t.Helper()
	if q := w.names.questions(); len(q) > 0 {
		w.t.Errorf("names were asked for: %q", q)
	}
	w.nothingDialed()
}

// nothingDialed fails if an address was dialed.
func (w *world) nothingDialed() {
	w.t.Helper()
	if d := w.net.calls(); len(d) > 0 {
		w.t.Errorf("addresses were dialed: %v", d)
	}
}
