// SPDX-License-Identifier: Apache-2.0

// Package address judges where a connection would go. It is pure.
package address

import "net/netip"

// Classes of addresses, for logs and metrics.
const (
	Global      = "global"
	Invalid     = "invalid"
	Zone        = "zone"
	Unspecified = "unspecified"
	Loopback    = "loopback"
	Private     = "private"
	Shared      = "shared"
	LinkLocal   = "link-local"
	Metadata    = "metadata"
	Multicast   = "multicast"
	Broadcast   = "broadcast"
	Mapped      = "mapped"
	Transition  = "transition"
	Special     = "special"
	Cluster     = "cluster"
)

type block struct {
	prefix netip.Prefix
	class  string
}

// Judge reports whether a run may be connected with an address, and what kind of address it is. ok is true only for global unicast
// addresses outside of all blocks of IANA's special-purpose registries and of all prefixes in extra, which are the networks of the cluster.
// An IPv4 address in an IPv6 form is refused, because programs disagree about its meaning; its class is that of the IPv4 address. The one
// exception is NAT64 (64:ff9b::/96), by which clusters with IPv6 only reach IPv4 hosts: the address within it is judged.
func Judge(a netip.Addr, extra []netip.Prefix) (class string, ok bool) {
	switch {
	case !a.IsValid():
		return Invalid, false
	case a.Zone() != "":
		return Zone, false
	case a.Is4In6():
		if class, ok = Judge(a.Unmap(), extra); ok {
			class = Mapped
		}
		return class, false
	}
	if class := blockOf(a, metadata); class != "" {
		return class, false
	}
	if inExtra(a, extra) {
		return Cluster, false
	}
	if nat64.Contains(a) {
		b := a.As16()
		return Judge(netip.AddrFrom4([4]byte(b[12:])), extra)
	}
	return judgePlain(a)
}
