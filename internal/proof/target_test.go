// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"slices"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestTargetsHasTheNode(t *testing.T) {
	t.Parallel()
	common := []toolapi.ProbeTarget{{Name: "c", Network: "tcp", Address: "10.0.0.1:1"}}
	four := []string{"10.1.2.3:10250", "10.1.2.3:6443", "[::ffff:10.1.2.3]:10250", "[64:ff9b::a01:203]:10250"}
	six := []string{"[fd00::1:2:3]:10250", "[fd00::1:2:3]:6443"}
	for name, tt := range map[string]struct{ nodes, want []string }{
		"none":                 {[]string{""}, nil},
		"no address":           {[]string{"node-1", "0.0.0.0", "::"}, nil},
		"IPv4":                 {[]string{"10.1.2.3"}, four},
		"IPv4 in its other":    {[]string{"::ffff:10.1.2.3"}, four},
		"IPv6":                 {[]string{"fd00::1:2:3"}, six},
		"both families":        {[]string{"10.1.2.3", "10.1.2.3", "fd00::1:2:3", "::ffff:10.1.2.3"}, append(slices.Clone(four), six...)},
		"both, the other way":  {[]string{"fd00::1:2:3", "10.1.2.3"}, append(slices.Clone(six), four...)},
		"the second is no use": {[]string{"fd00::1:2:3", "x"}, six},
	} {
		list := targets(common, parseAddresses(tt.nodes))
		var got []string
		for _, target := range list[1:] {
			got = append(got, target.Address)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if len(common) != 1 {
		t.Error("the common ones were changed")
	}
}

// For any number of addresses of a node, a probe has no more targets than a tool server accepts, and includes those of the first address.
func TestTargetsIsBounded(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("10.0.%d.%d", i/250, 1+i%250))
	}
	for common, want := range map[int]int{0: 32, 20: 52, 31: 63, 33: 61, 60: 64, 61: 65} {
		got := targets(make([]toolapi.ProbeTarget, common), parseAddresses(many))
		if len(got) != want {
			t.Errorf("beside %d others there are %d targets, want %d", common, len(got), want)
		}
		if got[common].Address != "10.0.0.1:10250" {
			t.Errorf("beside %d others the first is %v", common, got[common])
		}
	}
}
