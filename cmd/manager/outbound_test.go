// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/internal/outbound"
)

func TestParseReach(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]reach{
		"": {}, "cluster": {cluster: true}, "10.0.0.0/8, cluster,fd00::/8": {true, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}},
	} {
		got, err := parseReach("x", list)
		if err != nil || got.cluster != want.cluster || !slices.Equal(got.networks, want.networks) {
			t.Errorf("%q: %+v, %v", list, got, err)
		}
	}
	if _, err := parseReach("x", "clusters"); err == nil {
		t.Error("what is no network is accepted")
	}
}

// A namespace can have the manager post to any path of a sink, so the networks of models are not those of sinks.
func TestSinksHaveNetworksOfTheirOwn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	var defaults options
	defaults.bind(fs)
	if got, err := parseReach("x", defaults.allowedSinks); err != nil || got.cluster || len(got.networks) > 0 {
		t.Errorf("by default sinks may be in %+v, %v", got, err)
	}
	loopback := reach{cluster: true, networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	for name, tt := range map[string]struct {
		options options
		refused bool
	}{
		"of models": {options{models: loopback}, true},
		"of sinks":  {options{sinks: loopback}, false},
	} {
		out := newOutside(tt.options, reader)
		transport := out.sinks()
		defer transport.CloseIdleConnections()
		conn, err := out.mailServers(t.Context(), "tcp", server.Listener.Addr().String())
		if (err != nil) != tt.refused || tt.refused && !errors.Is(err, outbound.ErrRefused) {
			t.Errorf("with the network %s a mail server gives %v", name, err)
		}
		if conn != nil {
			_ = conn.Close()
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: transport}).Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		if errors.Is(err, outbound.ErrRefused) != tt.refused || !tt.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !out.inside(netip.MustParseAddr("127.0.0.1")) {
			t.Errorf("%s: loopback is outside", name)
		}
	}
}

// The installation's own endpoint is not judged; whatever a namespace names is.
func TestModelClient(t *testing.T) {
	t.Parallel()
	o := newOutside(options{}, nil)
	if o.modelClient("http://model.svc", "http://model.svc") != nil {
		t.Error("the installation's own endpoint is judged")
	}
	if c := o.modelClient("http://127.0.0.1:8080", "http://model.svc"); c == nil || c.Transport != o.models {
		t.Errorf("the client is %v", c)
	}
	if transport, ok := o.models.(*http.Transport); !ok || transport.HTTP2 == nil || transport.HTTP2.SendPingTimeout == 0 {
		t.Error("a dead connection to a model is not found out")
	}
}
