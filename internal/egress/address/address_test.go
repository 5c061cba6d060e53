// SPDX-License-Identifier: Apache-2.0

package address

import (
	"net/netip"
	"testing"
)

func TestBlocks(t *testing.T) {
	t.Parallel()
	// before and after are the neighbours of the block; "" where a neighbour is in a block of another line.
	tests := []struct{ before, first, last, after, class string }{
		{"", "0.0.0.0", "0.0.0.0", "", Unspecified},
		{"", "0.0.0.1", "0.255.255.255", "1.0.0.0", Special},
		{"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", Private},
		{"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", Shared},
		{"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", Loopback},
		{"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", LinkLocal},
		{"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", Private},
		{"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", Special},
		{"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", Special},
		{"192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0", Special},
		{"192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0", Special},
		{"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", Transition},
		{"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", Private},
		{"192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0", Special},
		{"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", Special},
		{"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", Special},
		{"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", Special},
		{"223.255.255.255", "224.0.0.0", "239.255.255.255", "", Multicast},
		{"", "240.0.0.0", "255.255.255.254", "", Special},
		{"", "255.255.255.255", "255.255.255.255", "", Broadcast},
		{"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17", Metadata},
		{"", "169.254.169.254", "169.254.169.254", "", Metadata},
		{"", "169.254.170.2", "169.254.170.2", "", Metadata},
		{"", "100.100.100.200", "100.100.100.200", "", Metadata},
		{"", "fd00:ec2::254", "fd00:ec2::254", "", Metadata},

		{"", "::", "::", "", Unspecified},
		{"", "::1", "::1", "", Loopback},
		{"", "::2", "::ffff:ffff", "", Transition},
		{"", "::127.0.0.1", "::8.8.8.8", "", Transition},
		{"", "0:0:0:0:fffe::", "0:0:0:0:ffff:0:808:808", "", Special},
		{"", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "", Transition},
		{"", "64:ff9b:2::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Special},
		{"", "100::", "100::ffff:ffff:ffff:ffff", "", Special},
		{"", "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", "", Special},
		{"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "", Transition},
		{"", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::", Special},
		{"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", Special},
		{"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::", Transition},
		{"2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::", Special},
		{"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::", Special},
		{"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Special},
		{"", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Special},
		{"", "5f01::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Special},
		{"", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Private},
		{"", "fe00::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Special},
		{"", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", LinkLocal},
		{"", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Private},
		{"", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", Multicast},
	}
	for _, tt := range tests {
		for _, s := range []string{tt.first, tt.last} {
			a := netip.MustParseAddr(s)
			if class, ok := Judge(a, nil); ok || class != tt.class {
				t.Errorf("%s: %s, %t; want %s", s, class, ok, tt.class)
			}
			if a.Is4() {
				// The same address in the two IPv6 forms that carry it.
				for _, form := range []string{"::ffff:", "64:ff9b::"} {
					if class, ok := Judge(netip.MustParseAddr(form+s), nil); ok || class != tt.class {
						t.Errorf("%s%s: %s, %t; want %s", form, s, class, ok, tt.class)
					}
				}
			}
		}
		for _, s := range []string{tt.before, tt.after} {
			if s == "" {
				continue
			}
			a := netip.MustParseAddr(s)
			if class, ok := Judge(a, nil); !ok || class != Global {
				t.Errorf("%s: %s, %t", s, class, ok)
			}
			if a.Is4() {
				if class, ok := Judge(netip.MustParseAddr("::ffff:"+s), nil); ok || class != Mapped {
					t.Errorf("mapped %s: %s, %t", s, class, ok)
				}
				if class, ok := Judge(netip.MustParseAddr("64:ff9b::"+s), nil); !ok || class != Global {
					t.Errorf("NAT64 of %s: %s, %t", s, class, ok)
				}
			}
		}
	}
}

// TestStandardLibraryAgrees compares with net/netip as a second opinion.
func TestStandardLibraryAgrees(t *testing.T) {
	t.Parallel()
	for i := range 1 << 16 {
		for _, a := range []netip.Addr{
			netip.AddrFrom4([4]byte{byte(i >> 8), byte(i), 1, 1}),
			netip.AddrFrom16([16]byte{byte(i >> 8), byte(i), 15: 1}),
		} {
			if class, ok := Judge(a, nil); ok && (!a.IsGlobalUnicast() || a.IsPrivate()) {
				t.Fatalf("%s is %s", a, class)
			}
		}
	}
}

func TestExtra(t *testing.T) {
	t.Parallel()
	extra := []netip.Prefix{
		netip.MustParsePrefix("198.41.0.0/24"), netip.MustParsePrefix("2606:4700::/32"), netip.MustParsePrefix("10.0.0.0/8"),
		netip.PrefixFrom(netip.MustParseAddr("::ffff:9.9.9.0"), 120), netip.MustParsePrefix("8.8.8.8/32"), {},
	}
	tests := map[string]string{
		"198.41.0.4": Cluster, "198.41.1.4": Global, "2606:4700::1111": Cluster, "2606:4701::1": Global, "10.1.2.3": Cluster,
		"9.9.9.9": Cluster, "9.9.8.9": Global, "8.8.8.8": Cluster, "::ffff:8.8.8.8": Cluster, "64:ff9b::8.8.8.8": Cluster,
		"8.8.8.9": Global, "127.0.0.1": Loopback, "169.254.169.254": Metadata,
	}
	for s, want := range tests {
		if class, ok := Judge(netip.MustParseAddr(s), extra); class != want || ok != (want == Global) {
			t.Errorf("%s: %s, %t; want %s", s, class, ok, want)
		}
	}
}

func TestNoAddress(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]netip.Addr{
		Invalid: {}, Zone: netip.MustParseAddr("2606:4700::1%eth0"),
	} {
		if class, ok := Judge(a, nil); ok || class != want {
			t.Errorf("%v: %s, %t", a, class, ok)
		}
	}
}
