// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"net"
	"net/netip"
	"slices"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/seccomp"
)

// ProgramFamilies are the families of which programs get sockets: that of the Pod's address, by which the manager and the egress
// proxy know it. A second one would be a second set of walls to prove, and no program needs it.
func ProgramFamilies(pod netip.Addr) seccomp.Families {
	return seccomp.Families{IPv4: pod.Unmap().Is4(), IPv6: pod.Unmap().Is6()}
}

// NameOf returns the name of the families for a launcher, "" for none; see FamiliesOf.
func NameOf(f seccomp.Families) string {
	switch {
	case f.IPv4:
		return toolapi.FamilyIPv4
	case f.IPv6:
		return toolapi.FamilyIPv6
	default:
		return ""
	}
}

// FamiliesOf reads the families of which the name is among a launcher's arguments.
func FamiliesOf(args []string) seccomp.Families {
	return seccomp.Families{IPv4: slices.Contains(args, toolapi.FamilyIPv4), IPv6: slices.Contains(args, toolapi.FamilyIPv6)}
}

// PodAddress is the Pod's own address from the environment or, if it is not set there, from the interfaces; IPv4 comes first then. The zero
// value means that there is none.
func PodAddress(named string) (netip.Addr, error) {
	if named != "" {
		ip, err := netip.ParseAddr(named)
		return ip.Unmap(), err
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, err
	}
	return FirstGlobal(addresses), nil
}

// FirstGlobal returns the first address that others can reach, of IPv4 if there is one, the zero Addr if there is none.
func FirstGlobal(addresses []net.Addr) netip.Addr {
	var found netip.Addr
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		ip := prefix.Addr().Unmap()
		switch {
		case err != nil || !ip.IsGlobalUnicast():
		case ip.Is4():
			return ip
		case !found.IsValid():
			found = ip
		}
	}
	return found
}
