// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/test/printed"
)

// Clients over the limits cost neither goroutines nor time.
func TestFlood(t *testing.T) {
	w := newWorld(t, func(c *egress.Config) { c.Limits.Unauthenticated, c.Limits.Total = 4, 8 })
	before := runtime.NumGoroutine()
	const flood = 500
	for range flood {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.addr)
		if err == nil { // or it was reset already
			defer conn.Close()
		}
	}
	eventually(t, "all were refused", func() bool {
		return w.metric("motorcortex_egress_requests_total too_many_connections deny") == flood-4
	})
	if n := runtime.NumGoroutine() - before; n > 100 {
		t.Errorf("%d more goroutines", n)
	}
	if n := w.metric("motorcortex_egress_connections"); n != 4 {
		t.Errorf("%v connections are served", n)
	}
}

// A connection that lingers over its refusal counts, for its source if for no run.
func TestLingeringCounts(t *testing.T) {
	w := httpsWorld(t, func(c *egress.Config) { c.Limits.Connections, c.Limits.Unauthenticated = 1, 2 })
	w.tunnel("example.org:443")
	for range 2 {
		c := w.dial()
		c.send(connectTo("example.org:443"))
		if a := c.answer("CONNECT"); a.reason != "too_many_connections" {
			t.Fatalf("%s, %s", a.phrase, a.reason)
		}
	}
	// Both are still read from. The new client has not even sent a head.
	if a := w.dial().answer("CONNECT"); a.reason != "too_many_connections" {
		t.Errorf("%s, %s", a.phrase, a.reason)
	}
}

// Noise hides no misuse, neither from the audit nor from people.
func TestMisuseBehindNoise(t *testing.T) {
	w := newWorld(t, nil)
	w.allow("ok.example.com:80")
	for i := range 60 {
		w.raw(connectTo(fmt.Sprintf("noise%d.example.net:443", i)))
	}
	w.raw("GET http://ok.example.com/ HTTP/1.1\r\nHost: ok.example.com\r\nX: " + grant.HandlePrefix + strings.Repeat("a", 32) + "\r\n" + authorization(token()) + "\r\n")
	c := w.dialFrom(elsewhere)
	c.send(connectTo("ok.example.com:443"))
	c.answer("CONNECT")
	for _, reason := range []egress.Reason{egress.ReasonCredentialPlaintext, egress.ReasonWrongSource} {
		if !strings.Contains(w.log.String(), `"reason":"`+string(reason)+`"`) || !w.people.has(reason) {
			t.Errorf("%s is hidden", reason)
		}
	}
	// The first of another reason has a line too, and each again after a minute.
	w.raw(connectTo("127.0.0.1:443"))
	if !strings.Contains(w.log.String(), `"reason":"bad_host"`) {
		t.Error("the first of a reason has no line")
	}
}

// Omitted lines are counted in the log when the proxy ends.
func TestOmittedAtTheEnd(t *testing.T) {
	w := httpsWorld(t, nil)
	for range 40 {
		w.raw(connectTo("evil.test:443"))
	}
	w.grants.Remove(runUID)
	w.stop()
	err := <-w.done
	w.done <- err
	if err != nil || !strings.Contains(w.log.String(), `"reason":"domain_not_allowed","omitted":10`) {
		t.Errorf("%v; it is not in the log", err)
	}
}

type faulty struct{}

func (faulty) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	panic("with a client's bytes in it")
}

// A fault ends one connection, and the proxy goes on.
func TestFault(t *testing.T) {
	w := newWorld(t, func(c *egress.Config) { c.Resolver = faulty{} })
	w.allow("example.org")
	for range 2 {
		c := w.dial()
		c.send(connectTo("example.org:443"))
		isClosed(t, c.Conn)
	}
	eventually(t, "places are free again", func() bool { return w.metric("motorcortex_egress_connections") == 0 })
	text := w.log.String()
	if !strings.Contains(text, "ended with a fault") || !strings.Contains(text, "LookupNetIP") || strings.Contains(text, "bytes in it") {
		t.Errorf("the log has %s", text)
	}
}

// No unsolicited bytes of a host come into the process's log.
func TestUnaskedBytes(t *testing.T) {
	var out printed.Text
	log.SetOutput(&out)
	defer log.SetOutput(io.Discard)
	w := newWorld(t, nil)
	w.allow("example.org:80")
	w.names.is("example.org", []netip.Addr{public})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	w.net.lead("93.184.216.34:80", ln.Addr().String())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		// The host speaks first, and more than it was asked for.
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiunasked bytes")
		_, _ = io.Copy(io.Discard, conn)
	}()
	a := w.raw("GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n" + authorization(token()) + "\r\n")
	<-ended
	if a.status != http.StatusOK || a.body != "hi" || out.String() != "" {
		t.Errorf("%s %q; the log has %q", a.phrase, a.body, out.String())
	}
}

// An answer costs a run as much as its host sent, also if the client sees nothing of it.
func TestFetchedBytesCount(t *testing.T) {
	w := newWorld(t, func(c *egress.Config) {
		c.Limits.Bytes = 64 << 10
		c.Terminator = swallow{}
	})
	g := w.grantOf("example.org")
	g.CA = testCA(t)
	g.Credentials = []grant.Credential{{Name: "forge", Hosts: []string{"example.org"}, Value: secret.New([]byte("a secret value"))}}
	w.set(g)
	w.names.is("example.org", []netip.Addr{public})
	w.plainSite("93.184.216.34:443", says(strings.Repeat("a", 1<<20)))
	c := w.tunnel("example.org:443")
	_, _ = c.Write(helloOf(t, "example.org"))
	isClosed(t, c.Conn)
	eventually(t, "the reason is in the log", func() bool { return strings.Contains(w.log.String(), `"verdict":"end","reason":"byte_limit"`) })
}

// swallow asks a host and keeps the answer for itself.
type swallow struct{}

func (swallow) Serve(ctx context.Context, conn net.Conn, _ egress.Target, _ *egress.Session, dial egress.DialFunc) error {
	defer conn.Close()
	host, err := dial(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	if _, err := io.WriteString(host, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, host)
	return err
}

// A run has one set of values, which a renewal leaves as it is and a rotation adds to, within bounds.
func TestValuesOfARun(t *testing.T) {
	w := newWorld(t, nil)
	give := func(value string) {
		g := w.grantOf("example.org")
		g.CA = testCA(t)
		g.Credentials = []grant.Credential{{Name: "forge", Slot: "Basic", Hosts: []string{"example.org"}, Value: secret.New([]byte(value))}}
		w.set(g)
	}
	give("a-long-user-name:a first password")
	first := egress.RedactorOf(w.grants, runUID)
	give("a-long-user-name:a first password")
	if egress.RedactorOf(w.grants, runUID) != first {
		t.Error("a renewal makes another Redactor")
	}
	give("a-long-user-name:the next password")
	got := egress.RedactorOf(w.grants, runUID).String("a-long-user-name, a first password, the next password")
	if got != "<credential:forge>, <credential:forge>, <credential:forge>" {
		t.Errorf("got %q", got)
	}
	big := bytes.Repeat([]byte("x"), 300<<10)
	for i := range 10 {
		give(fmt.Sprintf("user:%d%s", i, big))
	}
	for i := range 300 {
		give(fmt.Sprintf("a-long-user-name:password %d", i))
	}
	if n, size := egress.FormerOf(w.grants, runUID); n > 64 || size > 1<<20 {
		t.Errorf("%d former values of %d bytes", n, size)
	}
}
