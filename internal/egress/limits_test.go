// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

func TestRevocation(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *world)
		closed bool
		reason string
	}{
		"grant removed":           {func(w *world) { w.grants.Remove(runUID) }, true, "revoked"},
		"domain removed":          {func(w *world) { w.allow("other.example") }, true, "revoked"},
		"wildcard for the apex":   {func(w *world) { w.allow("*.example.org") }, true, "revoked"},
		"other port":              {func(w *world) { w.allow("example.org:8443") }, true, "revoked"},
		"grant expired":           {func(w *world) { w.clock.forward(grant.Lifetime) }, true, "grant_expired"},
		"grant cannot be read":    {func(w *world) { _ = w.grants.Set(w.grantOf("example.org", "*")) }, true, "revoked"},
		"renewed":                 {func(w *world) { w.clock.forward(time.Minute); w.allow("example.org") }, false, ""},
		"widened":                 {func(w *world) { w.allow("example.org", "other.example") }, false, ""},
		"other run's grant ended": {func(w *world) { w.grants.Remove("uid-2") }, false, ""},
		"token of a new attempt": {func(w *world) {
			g := w.grantOf("example.org")
			g.TokenHash = grant.HashToken(grant.Token(key, runUID, "pod-1", 2))
			w.set(g)
		}, true, "revoked"},
		"other Pod": {func(w *world) {
			g := w.grantOf("example.org")
			g.PodUID, g.PodIPs = "pod-2", []netip.Addr{elsewhere}
			w.set(g)
		}, true, "revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httpsWorld(t, nil)
			c := w.tunnel("example.org:443")
			secure := c.secure("example.org")
			get(t, secure, "example.org", "/")
			// A second connection that has not sent its ClientHello yet.
			waiting := w.tunnel("example.org:443")
			tc.change(w)
			if !tc.closed {
				if got := get(t, secure, "example.org", "/"); got != "here" {
					t.Errorf("got %q", got)
				}
				return
			}
			isClosed(t, c.Conn)
			isClosed(t, waiting.Conn)
			want := `"verdict":"end","reason":"` + tc.reason + `"`
			eventually(t, "the reason is in the log", func() bool { return strings.Contains(w.log.String(), want) })
			if a := w.raw(connectTo("example.org:443")); a.status < 400 {
				t.Errorf("another connection: %s", a.phrase)
			}
		})
	}
}

// The address of a Pod can be that of another one a moment later. The connections of the former Pod end all the same.
func TestAnotherPodAtTheSameAddress(t *testing.T) {
	w := httpsWorld(t, nil)
	c := w.tunnel("example.org:443")
	get(t, c.secure("example.org"), "example.org", "/")
	g := w.grantOf("example.org")
	g.PodUID = "pod-2"
	w.set(g)
	isClosed(t, c.Conn)
	eventually(t, "the reason is in the log", func() bool { return strings.Contains(w.log.String(), `"verdict":"end","reason":"revoked"`) })
}

func TestExpiredGrantCountsAgainWhenRenewed(t *testing.T) {
	w := httpsWorld(t, nil)
	w.clock.forward(grant.Lifetime)
	if a := w.raw(connectTo("example.org:443")); a.status != 407 || a.reason != "grant_expired" {
		t.Errorf("%s, %s", a.phrase, a.reason)
	}
	w.nothingLeft()
	w.allow("example.org")
	w.tunnel("example.org:443").secure("example.org")
}

func TestGrantsThatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(g *grant.Grant){
		"a rule":               func(g *grant.Grant) { g.Domains = []string{"*.com"} },
		"host of a credential": func(g *grant.Grant) { g.Credentials[0].Hosts = []string{"127.0.0.1"} },
		"no CA":                func(g *grant.Grant) { g.CA = nil },
		"CA of nonsense":       func(g *grant.Grant) { g.CA.Key = secret.New("a key that must not be shown") },
		"no source":            func(g *grant.Grant) { g.PodIPs = nil },
		"token of another run": func(g *grant.Grant) { g.TokenHash = "taken" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			other := w.grantOf("example.org")
			other.RunUID, other.TokenHash = "uid-2", "taken"
			w.set(other)
			g := w.grantOf("example.org")
			g.CA = testCA(t)
			g.Credentials = []grant.Credential{{Name: "forge", Hosts: []string{"example.org"}, Value: secret.New([]byte("a secret value"))}}
			w.set(g)
			worse := *g
			ca, credentials := *g.CA, append([]grant.Credential(nil), g.Credentials...)
			worse.CA, worse.Credentials = &ca, credentials
			spoil(&worse)
			err := w.grants.Set(&worse)
			if err == nil {
				t.Fatal("the grant was accepted")
			}
			if strings.Contains(err.Error(), "must not be shown") || strings.Contains(err.Error(), "secret") {
				t.Error("the error shows a value")
			}
			if n := w.grants.Len(); n != 1 {
				t.Errorf("%d grants are left, want the other run's", n)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Run("connections at once", func(t *testing.T) {
		w := httpsWorld(t, func(c *egress.Config) { c.Limits.Connections = 2 })
		first := w.tunnel("example.org:443")
		w.tunnel("example.org:443")
		if a := w.raw(connectTo("example.org:443")); a.status != 429 || a.reason != "too_many_connections" {
			t.Errorf("%s, %s", a.phrase, a.reason)
		}
		_ = first.Close()
		eventually(t, "a place is free again", func() bool { return w.raw(connectTo("example.org:443")).status == 200 })
	})
	t.Run("requests", func(t *testing.T) {
		w := httpsWorld(t, func(c *egress.Config) { c.Limits.Requests = 3 })
		for range 3 {
			w.raw(connectTo("evil.test:443"))
		}
		if a := w.raw(connectTo("example.org:443")); a.status != 429 || a.reason != "rate_limited" {
			t.Errorf("%s, %s", a.phrase, a.reason)
		}
		w.clock.forward(time.Minute)
		w.tunnel("example.org:443")
	})
	t.Run("new names", func(t *testing.T) {
		w := newWorld(t, func(c *egress.Config) { c.Limits.Names = 3 })
		w.allow("*.example.org")
		for i := range 3 {
			w.raw(connectTo(fmt.Sprintf("n%d.example.org:443", i)))
		}
		if a := w.raw(connectTo("n3.example.org:443")); a.status != 429 || a.reason != "too_many_names" {
			t.Errorf("%s, %s", a.phrase, a.reason)
		}
		if a := w.raw(connectTo("n1.example.org:443")); a.reason != "dns_failed" {
			t.Errorf("a name that was asked for before: %s, %s", a.phrase, a.reason)
		}
		if q := w.names.questions(); len(q) != 4 {
			t.Errorf("asked %q", q)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		w := newWorld(t, func(c *egress.Config) { c.Limits.Bytes = 16 << 10 })
		w.allow("example.org:80", "example.org")
		w.names.is("example.org", []netip.Addr{public})
		w.plainSite("93.184.216.34:80", says(strings.Repeat("a", 1<<20)))
		w.site("93.184.216.34:443", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(rw, zeros{}, 64<<20)
		}))
		c := w.tunnel("example.org:443")
		conn := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true, ServerName: "example.org"})
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
		n, _ := io.Copy(io.Discard, conn)
		if n >= 64<<20 {
			t.Errorf("%d bytes came", n)
		}
		eventually(t, "the reason is in the log", func() bool { return strings.Contains(w.log.String(), `"reason":"byte_limit"`) })
		if a := w.raw(connectTo("example.org:443")); a.status != 429 || a.reason != "byte_limit" {
			t.Errorf("the next connection: %s, %s", a.phrase, a.reason)
		}
		w.clock.forward(time.Hour + 64<<20/(16<<10)*time.Hour)
		w.allow("example.org")
		w.tunnel("example.org:443")
	})
	t.Run("connections that did not say who they are", func(t *testing.T) {
		w := httpsWorld(t, func(c *egress.Config) { c.Limits.Unauthenticated = 2 })
		first := w.dial()
		w.dial()
		eventually(t, "both are there", func() bool { return w.metric("motorcortex_egress_connections") == 2 })
		if a := w.raw(connectTo("example.org:443")); a.status != 429 || a.reason != "too_many_connections" {
			t.Errorf("a third: %s, %s", a.phrase, a.reason)
		}
		c := w.dialFrom(elsewhere)
		c.send(connectTo("example.org:443"))
		if a := c.answer("CONNECT"); a.reason != "wrong_source" {
			t.Errorf("another source: %s, %s", a.phrase, a.reason)
		}
		_ = first.Close()
		eventually(t, "a place is free again", func() bool { return w.raw(connectTo("example.org:443")).status == 200 })
	})
	for what, bound := range map[string]func(*egress.Limits){
		"heads of one source": func(l *egress.Limits) { l.Heads = 60 << 10 },
		"heads of all":        func(l *egress.Limits) { l.TotalHeads = 60 << 10 },
	} {
		t.Run(what, func(t *testing.T) {
			w := httpsWorld(t, func(c *egress.Config) { bound(&c.Limits) })
			w.allow("example.org")
			holds := w.dial()
			holds.send("GET http://example.org/ HTTP/1.1\r\nX: " + strings.Repeat("a", 60<<10))
			long := connectTo("example.org:443")
			long = strings.TrimSuffix(long, "\r\n") + "X: " + strings.Repeat("a", 20<<10) + "\r\n\r\n"
			eventually(t, "another head finds no room", func() bool { a := w.raw(long); return a.status == 429 && a.reason == "too_many_connections" })
			if a := w.raw(connectTo("example.org:443")); a.status != 200 {
				t.Errorf("a head of ordinary size: %s, %s", a.phrase, a.reason)
			}
			_ = holds.Close()
			eventually(t, "there is room again", func() bool { return w.raw(long).status == 200 })
		})
	}
	t.Run("one head beside those of others", func(t *testing.T) {
		w := httpsWorld(t, func(c *egress.Config) { c.Limits.TotalHeads = 4 * 60 << 10 })
		w.allow("example.org")
		for range 6 {
			c := w.dialFrom(elsewhere)
			c.send("GET http://example.org/ HTTP/1.1\r\nX: " + strings.Repeat("a", 60<<10))
		}
		short := strings.TrimSuffix(connectTo("example.org:443"), "\r\n") + "X: " + strings.Repeat("a", 8<<10) + "\r\n\r\n"
		eventually(t, "the other source finds no more room", func() bool {
			c := w.dialFrom(elsewhere)
			c.send(short)
			a := c.answer("CONNECT")
			return a.status == 429 && a.reason == "too_many_connections"
		})
		long := strings.TrimSuffix(connectTo("example.org:443"), "\r\n") + "X: " + strings.Repeat("a", 60<<10) + "\r\n\r\n"
		if a := w.raw(long); a.status != 200 {
			t.Errorf("a source that holds nothing: %s, %s", a.phrase, a.reason)
		}
	})
	t.Run("waiting for a grant", func(t *testing.T) {
		w := newWorld(t, func(c *egress.Config) { c.Limits.Waiting, c.Timeouts.Grant = 1, patience })
		var answers sync.Map
		var done sync.WaitGroup
		for i := range 2 {
			c := w.dial()
			c.send(connectTo("example.org:443"))
			done.Go(func() { answers.Store(i, c.answer("CONNECT").reason) })
		}
		eventually(t, "one is refused at once", func() bool {
			n := 0
			answers.Range(func(_, v any) bool { n++; return v == "unknown_token" })
			return n == 1
		})
		w.allow("other.example")
		done.Wait()
	})
	t.Run("nothing moves", func(t *testing.T) {
		w := httpsWorld(t, func(c *egress.Config) { c.Timeouts.Idle = 3 * time.Second }) // Longer than a handshake stands still.
		c := w.tunnel("example.org:443")
		c.secure("example.org")
		isClosed(t, c.Conn)
		eventually(t, "the reason is in the log", func() bool { return strings.Contains(w.log.String(), `"reason":"idle_timeout"`) })
	})
	t.Run("audit lines of refusals", func(t *testing.T) {
		w := httpsWorld(t, nil)
		for range 100 {
			w.raw(connectTo("evil.test:443"))
		}
		if n := strings.Count(w.log.String(), "\n"); n < 10 || n > 50 {
			t.Errorf("%d lines", n)
		}
		w.clock.forward(time.Minute)
		eventually(t, "the number of lines that were left out is in the log, though nothing follows", func() bool {
			return strings.Contains(w.log.String(), `"run":"a-run","namespace":"agents","pod":"a-run-motor-sandbox","uid":"`+runUID+`","verdict":"deny","reason":"domain_not_allowed","omitted":70`)
		})
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestShutdown(t *testing.T) {
	w := httpsWorld(t, func(c *egress.Config) { c.Timeouts.Grace = 3 * time.Second })
	c := w.tunnel("example.org:443")
	secure := c.secure("example.org")
	w.stop()
	if got := get(t, secure, "example.org", "/"); got != "here" {
		t.Errorf("within the grace period: %q", got)
	}
	isClosed(t, c.Conn)
	if err := <-w.done; err != nil {
		t.Error(err)
	}
	w.done <- nil
	if !strings.Contains(w.log.String(), `"reason":"shutdown"`) {
		t.Error("the reason is not in the log")
	}
}

func TestMetrics(t *testing.T) {
	w := httpsWorld(t, nil)
	w.tunnel("example.org:443").secure("example.org")
	w.raw(connectTo("evil.test:443"))
	for name, want := range map[string]float64{
		"motorcortex_egress_requests_total domain_not_allowed deny": 1,
		"motorcortex_egress_requests_total allowed allow":           1,
		"motorcortex_egress_grants":                                 1,
		"motorcortex_egress_resolve_seconds":                        1,
		"motorcortex_egress_dial_seconds":                           1,
	} {
		if got := w.metric(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if w.metric("motorcortex_egress_bytes_total to_host") == 0 {
		t.Error("no bytes were counted")
	}
}

// metric returns the value of a metric, which is named with the values of its labels.
func (w *world) metric(name string) float64 {
	w.t.Helper()
	families, err := w.reg.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			this := f.GetName()
			for _, l := range m.Label {
				this += " " + l.GetValue()
			}
			if this == name {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}
