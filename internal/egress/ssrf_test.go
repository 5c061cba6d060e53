// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"motorcortex.dev/motorcortex/internal/egress"
)

func TestForbiddenAddresses(t *testing.T) {
	for name, addrs := range map[string][]string{
		"loopback":              {"127.0.0.1"},
		"loopback, elsewhere":   {"127.8.8.8"},
		"IPv6 loopback":         {"::1"},
		"unspecified":           {"0.0.0.0"},
		"IPv6 unspecified":      {"::"},
		"private 10":            {"10.1.2.3"},
		"private 172.16":        {"172.16.0.1"},
		"private 192.168":       {"192.168.1.1"},
		"unique local":          {"fd00::1"},
		"carrier":               {"100.64.0.1"},
		"link-local":            {"169.254.1.1"},
		"IPv6 link-local":       {"fe80::1"},
		"metadata":              {"169.254.169.254"},
		"IPv6 metadata":         {"fd00:ec2::254"},
		"multicast":             {"224.0.0.1"},
		"IPv6 multicast":        {"ff02::1"},
		"broadcast":             {"255.255.255.255"},
		"mapped loopback":       {"::ffff:127.0.0.1"},
		"mapped public":         {"::ffff:93.184.216.34"},
		"NAT64 of private":      {"64:ff9b::a01:203"},
		"6to4":                  {"2002:7f00:1::"},
		"documentation":         {"192.0.2.1"},
		"network of cluster":    {"203.0.112.7"},
		"mixed, forbidden last": {"93.184.216.34", "10.0.0.1"},
		"mixed, forbidden next": {"10.0.0.1", "93.184.216.34"},
		"mixed, both families":  {"93.184.216.34", "fd00::1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.allow("example.org", "example.org:80")
			var answer []netip.Addr
			for _, a := range addrs {
				answer = append(answer, netip.MustParseAddr(a))
			}
			w.names.is("example.org", answer)
			for _, request := range []string{
				connectTo("example.org:443"),
				"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n" + authorization(token()) + "\r\n",
			} {
				if a := w.raw(request); a.status != 403 || a.reason != "address_not_allowed" {
					t.Errorf("%s, %s", a.phrase, a.reason)
				}
			}
			w.nothingDialed()
		})
	}
}

func TestAnswersOfDNS(t *testing.T) {
	var many []netip.Addr
	for a := public; len(many) < 33; a = a.Next() {
		many = append(many, a)
	}
	for name, answer := range map[string][]netip.Addr{"none": {}, "no such name": nil, "too many": many} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.allow("example.org")
			if answer != nil {
				w.names.is("example.org", answer)
			}
			if a := w.raw(connectTo("example.org:443")); a.status != 502 || a.reason != "dns_failed" {
				t.Errorf("%s, %s", a.phrase, a.reason)
			}
			w.nothingDialed()
		})
	}
}

// TestRebinding has a name whose second answer is another one: the proxy must not ask twice for one connection.
func TestRebinding(t *testing.T) {
	w := newWorld(t, nil)
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public}, []netip.Addr{localhost})
	w.site("93.184.216.34:443", says("here"))
	c := w.tunnel("example.org:443")
	if got := get(t, c.secure("example.org"), "example.org", "/"); got != "here" {
		t.Errorf("got %q", got)
	}
	if d := w.net.calls(); len(d) != 1 || d[0].Addr() != public {
		t.Errorf("dialed %v", d)
	}
	if a := w.raw(connectTo("example.org:443")); a.reason != "address_not_allowed" {
		t.Errorf("the second connection: %s, %s", a.phrase, a.reason)
	}
	if d, q := w.net.calls(), w.names.questions(); len(d) != 1 || len(q) != 2 {
		t.Errorf("dialed %v, asked %q", d, q)
	}
}

// TestForbiddenMeanwhile has a network that becomes the cluster's between the judgement and the dial.
func TestForbiddenMeanwhile(t *testing.T) {
	var mu sync.Mutex
	forbidden := []netip.Prefix{}
	w := httpsWorld(t, func(c *egress.Config) {
		c.ForbiddenPrefixes = func() []netip.Prefix {
			mu.Lock()
			defer mu.Unlock()
			return forbidden
		}
	})
	c := w.tunnel("example.org:443")
	mu.Lock()
	forbidden = []netip.Prefix{netip.PrefixFrom(public, 24)}
	mu.Unlock()
	c.send(string(helloOf(t, "example.org")))
	// A proxy that dials all the same would keep the connection open for as long as it waits.
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, c.Conn)
	}()
	eventually(t, "the connection is closed, or the network dialed", func() bool {
		select {
		case <-closed:
			return true
		default:
			return len(w.net.calls()) > 0
		}
	})
	w.nothingDialed()
}

func TestNextAddressIsTried(t *testing.T) {
	w := newWorld(t, nil)
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public2, public})
	w.site("93.184.216.34:443", says("here"))
	if got := get(t, w.tunnel("example.org:443").secure("example.org"), "example.org", "/"); got != "here" {
		t.Errorf("got %q", got)
	}
}

// TestRealResolver asks a DNS server over UDP, with search domains of the cluster being none of the proxy's business.
func TestRealResolver(t *testing.T) {
	dns := newDNS(t)
	dns.a("example.org.", public)
	dns.cname("inside.example.org.", "kubernetes.default.svc.cluster.local.", netip.MustParseAddr("10.96.0.1"))
	w := newWorld(t, func(c *egress.Config) { c.Resolver, c.DNSServer = nil, dns.addr })
	w.allow("example.org", "*.example.org")
	w.site("93.184.216.34:443", says("here"))
	t.Run("exactly one lookup, dialed as judged", func(t *testing.T) {
		if got := get(t, w.tunnel("example.org:443").secure("example.org"), "example.org", "/"); got != "here" {
			t.Errorf("got %q", got)
		}
		dns.saw(t, "A example.org.", "AAAA example.org.")
		if d := w.net.calls(); len(d) != 1 || d[0] != netip.AddrPortFrom(public, 443) {
			t.Errorf("dialed %v", d)
		}
	})
	t.Run("CNAME to inside", func(t *testing.T) {
		if a := w.raw(connectTo("inside.example.org:443")); a.reason != "address_not_allowed" {
			t.Errorf("%s, %s", a.phrase, a.reason)
		}
		dns.saw(t, "A inside.example.org.", "AAAA inside.example.org.")
	})
	t.Run("no expansion of a name that is not there", func(t *testing.T) {
		if a := w.raw(connectTo("gone.example.org:443")); a.reason != "dns_failed" {
			t.Errorf("%s, %s", a.phrase, a.reason)
		}
		dns.saw(t, "A gone.example.org.", "AAAA gone.example.org.")
	})
	t.Run("a name that is not allowed is not asked for", func(t *testing.T) {
		w.raw(connectTo("secret.evil.test:443"))
		dns.saw(t)
	})
}

// dnsServer answers over UDP, and notes the questions.
type dnsServer struct {
	addr  string
	mu    sync.Mutex
	hosts map[string][]dnsmessage.Resource
	seen  map[string]int
}

func newDNS(t *testing.T) *dnsServer {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &dnsServer{addr: conn.LocalAddr().String(), hosts: map[string][]dnsmessage.Resource{}, seen: map[string]int{}}
	var done sync.WaitGroup
	done.Go(func() { d.serve(conn) })
	t.Cleanup(func() {
		_ = conn.Close()
		done.Wait()
	})
	return d
}

func resource(name string, body dnsmessage.ResourceBody, kind dnsmessage.Type) dnsmessage.Resource {
	return dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET, TTL: 1},
		Body:   body,
	}
}

func (d *dnsServer) a(name string, to netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hosts[name] = []dnsmessage.Resource{resource(name, &dnsmessage.AResource{A: to.As4()}, dnsmessage.TypeA)}
}

func (d *dnsServer) cname(name, other string, to netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hosts[name] = []dnsmessage.Resource{
		resource(name, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(other)}, dnsmessage.TypeCNAME),
		resource(other, &dnsmessage.AResource{A: to.As4()}, dnsmessage.TypeA),
	}
}

func (d *dnsServer) serve(conn net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		d.mu.Lock()
		d.seen[strings.TrimPrefix(q.Type.String(), "Type")+" "+q.Name.String()]++
		records, ok := d.hosts[q.Name.String()]
		d.mu.Unlock()
		m.Response, m.RecursionAvailable, m.Additionals, m.Answers = true, true, nil, nil
		switch {
		case !ok:
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = records
		}
		if b, err := m.Pack(); err == nil {
			_, _ = conn.WriteTo(b, from)
		}
	}
}

// saw fails unless exactly these questions were asked, once each, since it was called last.
func (d *dnsServer) saw(t *testing.T, questions ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range questions {
		if d.seen[q] != 1 {
			t.Errorf("%s was asked %d times", q, d.seen[q])
		}
		delete(d.seen, q)
	}
	if len(d.seen) > 0 {
		t.Errorf("also asked: %v", d.seen)
	}
	clear(d.seen)
}
