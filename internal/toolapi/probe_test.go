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
