// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"
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
