// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"slices"
	"testing"
)

func TestOpenNearby(t *testing.T) {
	t.Parallel()
	four := &Confinement{Families: []string{FamilyIPv4}, Denied: []string{FamilyIPv6}}
	six := &Confinement{Families: []string{FamilyIPv6}}
	listening := &Confinement{Families: []string{FamilyIPv4}, Listening: []string{"[::]:8443"}}
	near := func(family string, reached bool) ProbeResponse {
		return ProbeResponse{Nearby: []NearbyResult{{Family: family, ProbeResult: ProbeResult{Name: "x", Reached: reached}}}}
	}
	with := func(r ProbeResponse, c *Confinement) ProbeResponse {
		r.Confinement = c
		return r
	}
	for name, tt := range map[string]struct {
		resp ProbeResponse
		want []string
	}{
		"by the link, and the kernel is the wall": {with(near(FamilyIPv6, true), four), nil},
		"by the link, and programs have sockets":  {with(near(FamilyIPv6, true), six), []string{"x"}},
		"by the link, and nothing is known":       {near(FamilyIPv6, true), []string{"x"}},
		"by a broadcast":                          {with(near(FamilyIPv4, true), four), []string{"x"}},
		"a target":                                {ProbeResponse{Results: []ProbeResult{{Name: "api", Reached: true}, {Name: "dns"}}}, []string{"api"}},
		"blocked":                                 {with(near(FamilyIPv4, false), four), nil},
		"from outside":                            {ProbeResponse{Confinement: listening}, []string{"from outside its own tool server at [::]:8443"}},
	} {
		if got := tt.resp.Open(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A proof holds for another replica of the manager, and not for other targets.
func TestDigestOfAProbe(t *testing.T) {
	t.Parallel()
	of := func(targets ...ProbeTarget) string { return ProbeRequest{Targets: targets}.Digest() }
	node := ProbeTarget{Name: "the node", Network: "tcp", Address: "10.0.0.1:10250"}
	manager := ProbeTarget{Name: ProbeManager, Network: "tcp", Address: "10.1.0.1:8081"}
	want := of(node, manager)
	renamed, replica := node, manager
	renamed.Name, replica.Address = "a node", "10.1.0.2:8081"
	if got := of(renamed, replica); got != want {
		t.Error("the name of a target or the replica of the manager counts")
	}
	other, udp := node, node
	other.Address, udp.Network = "10.0.0.2:10250", "udp"
	for name, got := range map[string]string{
		"another address": of(other, manager), "another network": of(udp, manager), "one less": of(node), "another order": of(manager, node),
	} {
		if got == want {
			t.Errorf("%s: the digest is the same", name)
		}
	}
}
