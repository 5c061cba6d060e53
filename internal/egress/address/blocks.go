// SPDX-License-Identifier: Apache-2.0

package address

import "net/netip"

func blocks(class string, prefixes ...string) []block {
	list := make([]block, 0, len(prefixes))
	for _, p := range prefixes {
		list = append(list, block{netip.MustParsePrefix(p), class})
	}
	return list
}

func join(lists ...[]block) []block {
	var all []block
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// metadata are the services by which clouds hand out secrets to a machine. They are checked first, for their name in the log: most are in a
// block that is refused anyway, but the one of Azure is an ordinary public address.
var metadata = join(
	blocks(Metadata, "169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32", "168.63.129.16/32",
		"192.0.0.192/32", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128"),
)

// special4 are the blocks of IANA's registry of special-purpose IPv4 addresses, those too that are routed (AS112, AMT):
// no work of a run is there. The first that contains an address names it.
var special4 = join(
	blocks(Unspecified, "0.0.0.0/32"),
	blocks(Loopback, "127.0.0.0/8"),
	blocks(Private, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
	blocks(Shared, "100.64.0.0/10"),
	blocks(LinkLocal, "169.254.0.0/16"),
	blocks(Multicast, "224.0.0.0/4"),
	blocks(Broadcast, "255.255.255.255/32"),
	blocks(Special, "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
	blocks(Transition, "192.88.99.0/24"),
)

// special6 are the blocks of IANA's registry of special-purpose IPv6 addresses and those that were once in use.
var special6 = join(
	blocks(Unspecified, "::/128"),
	blocks(Loopback, "::1/128"),
	blocks(Mapped, "::ffff:0:0/96"),
	blocks(Transition, "::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16"),
	blocks(Private, "fc00::/7", "fec0::/10"),
	blocks(LinkLocal, "fe80::/10"),
	blocks(Multicast, "ff00::/8"),
	blocks(Special, "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20", "5f00::/16"),
)

var (
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// unicast6 is all that IANA has assigned for global unicast: addresses outside of it are unused, or were forgotten in special6.
	unicast6 = netip.MustParsePrefix("2000::/3")
)

func blockOf(a netip.Addr, list []block) string {
	for _, b := range list {
		if b.prefix.Contains(a) {
			return b.class
		}
	}
	return ""
}

func inExtra(a netip.Addr, extra []netip.Prefix) bool {
	for _, p := range extra {
		if Unmap(p).Contains(a) {
			return true
		}
	}
	return false
}

// Unmap returns an IPv4-mapped network as the IPv4 network that it is, and every other one as it is. In its mapped form it contains no IPv4
// address, and would protect nothing.
func Unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

func judgePlain(a netip.Addr) (string, bool) {
	list := special6
	if a.Is4() {
		list = special4
	}
	if class := blockOf(a, list); class != "" {
		return class, false
	}
	if !a.Is4() && !unicast6.Contains(a) {
		return Special, false
	}
	return Global, true
}
