// SPDX-License-Identifier: Apache-2.0

package outbound_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"motorcortex.dev/motorcortex/internal/outbound"
)

func prefixes(list ...string) (all []netip.Prefix) {
	for _, p := range list {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

func cluster() outbound.Networks {
	return outbound.Networks{
		Own:   prefixes("172.30.0.1/32", "10.96.0.1/32", "fd00:1::1/128"),
		Inner: prefixes("10.96.0.0/12", "10.244.0.0/16", "fd00:2::/64"),
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address                    string
		strict, withCluster, named bool
	}{
		{"93.184.215.14", true, true, true}, {"2606:2800:21f::1", true, true, true},
		{"192.168.7.7", true, true, true}, {"172.30.0.2", true, true, true}, {"fd00:9::1", true, true, true},
		{"10.96.0.10", false, true, true}, {"10.244.1.2", false, true, true}, {"fd00:2::7", false, true, true}, {"::ffff:10.244.1.2", false, true, true},
		{"10.96.0.1", false, false, false}, {"172.30.0.1", false, false, true}, {"fd00:1::1", false, false, false},
		{"127.0.0.1", false, false, true}, {"::1", false, false, false}, {"::ffff:127.0.0.1", false, false, true}, {"0.0.0.0", false, false, false},
		{"169.254.169.254", false, false, false}, {"fe80::1%eth0", false, false, false}, {"224.0.0.1", false, false, false}, {"::", false, false, false},
		{"64:ff9b::7f00:1", false, false, false}, {"168.63.129.16", false, false, false}, {"192.0.2.1", false, false, false},
	} {
		a := netip.MustParseAddr(c.address)
		for name, tt := range map[string]struct {
			guard *outbound.Guard
			want  bool
		}{
			"nothing is allowed":  {&outbound.Guard{}, c.strict},
			"the cluster is":      {&outbound.Guard{Cluster: true}, c.withCluster},
			"networks are, named": {&outbound.Guard{Cluster: true, Allowed: prefixes("127.0.0.0/8", "172.30.0.0/24")}, c.named},
		} {
			if err := tt.guard.Judge(a, cluster()); (err == nil) != tt.want {
				t.Errorf("%s, %s: %v", c.address, name, err)
			}
		}
	}
}

func TestJudgeByMappedNetworks(t *testing.T) {
	t.Parallel()
	networks := outbound.Networks{Own: prefixes("::ffff:192.168.7.0/120"), Inner: prefixes("::ffff:172.30.0.0/112")}
	for address, want := range map[string]bool{
		"192.168.7.7": false, "::ffff:192.168.7.7": false, "192.168.8.7": true, "172.30.9.9": false, "172.31.0.1": true, "127.0.0.1": true,
	} {
		g := &outbound.Guard{Allowed: prefixes("::ffff:127.0.0.0/104")}
		if err := g.Judge(netip.MustParseAddr(address), networks); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestInside(t *testing.T) {
	t.Parallel()
	g := &outbound.Guard{Networks: func(context.Context) (outbound.Networks, error) {
		return outbound.Networks{Own: prefixes("198.200.0.7/32"), Inner: prefixes("2600:1::/64")}, nil
	}}
	// A connection is what reads the networks.
	if _, err := g.DialContext(t.Context(), "tcp", "198.200.0.7:1"); !errors.Is(err, outbound.ErrRefused) {
		t.Fatalf("the error is %v", err)
	}
	for address, want := range map[string]bool{
		"198.200.0.7": true, "::ffff:198.200.0.7": true, "2600:1::5": true, "10.1.1.1": true, "127.0.0.1": true, "fd00::1": true,
		"198.200.0.8": false, "::ffff:198.200.0.8": false, "2600:2::5": false,
	} {
		if got := g.Inside(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}

// The address of the connection is judged: neither a name nor a redirect bypasses that.
func TestTransportRefuses(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		}
	}))
	defer server.Close()
	networks := func(context.Context) (outbound.Networks, error) { return cluster(), nil }
	get := func(g *outbound.Guard, url string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		transport := g.Transport()
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	byName := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for _, url := range []string{server.URL, byName} {
		if err := get(&outbound.Guard{Cluster: true, Networks: networks}, url); !errors.Is(err, outbound.ErrRefused) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if asked != 0 {
		t.Errorf("the server was asked %d times", asked)
	}
	open := &outbound.Guard{Allowed: prefixes("127.0.0.1/32"), Networks: networks}
	if err := get(open, server.URL); err != nil || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	if err := get(open, server.URL+"/away"); !errors.Is(err, outbound.ErrRefused) {
		t.Errorf("a redirect: %v", err)
	}
}

// As long as the cluster's networks are unknown, no connection is made.
func TestTransportNeedsTheNetworks(t *testing.T) {
	t.Parallel()
	broken, calls := errors.New("the API server is not there"), 0
	g := &outbound.Guard{Allowed: prefixes("127.0.0.0/8"), Networks: func(context.Context) (outbound.Networks, error) {
		calls++
		return outbound.Networks{}, broken
	}}
	for range 2 {
		if _, err := g.DialContext(t.Context(), "tcp", "127.0.0.1:1"); !errors.Is(err, broken) {
			t.Errorf("the error is %v", err)
		}
	}
	if calls != 2 {
		t.Errorf("they were read %d times", calls)
	}
}

// A network that the installation allows is allowed on each link.
func TestJudgeOnALink(t *testing.T) {
	t.Parallel()
	g := &outbound.Guard{Allowed: prefixes("fe80::/64")}
	if err := g.Judge(netip.MustParseAddr("fe80::1%eth0"), cluster()); err != nil {
		t.Error(err)
	}
}

// A new node is known after half a minute, and known networks stay known while the API server is down.
func TestNetworksAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken, calls := errors.New("the API server is not there"), 0
		g := &outbound.Guard{Networks: func(context.Context) (outbound.Networks, error) {
			if calls++; calls > 2 {
				return outbound.Networks{}, broken
			}
			return cluster(), nil
		}}
		for _, want := range []int{1, 1, 2, 2, 3, 4} {
			if _, err := g.DialContext(t.Context(), "tcp", "172.30.0.1:1"); !errors.Is(err, outbound.ErrRefused) {
				t.Errorf("the error is %v", err)
			}
			if calls != want {
				t.Errorf("they were read %d times, want %d", calls, want)
			}
			time.Sleep(20 * time.Second) //nolint:forbidigo // The clock of the bubble: nobody waits.
		}
	})
}

// A silent host times out.
func TestHeaderTimeout(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	g := &outbound.Guard{
		Allowed: prefixes("127.0.0.0/8"), HeaderTimeout: 50 * time.Millisecond,
		Networks: func(context.Context) (outbound.Networks, error) { return outbound.Networks{}, nil },
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Transport().RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		t.Error("it answered")
	}
}
