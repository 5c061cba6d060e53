// SPDX-License-Identifier: Apache-2.0

// Package nearby finds the hosts that a sandbox could reach on its link, without any configuration: the gateway and neighbours by the
// addresses of the link, and listeners to a broadcast or a multicast. A network plugin may have barriers for the addresses of Pods only,
// and programs can find these hosts as easily as this package does.
package nearby

import (
	"bufio"
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// maxNeighbours bounds how many are tried. On the network of a node there can be hundreds, behind the same walls.
const maxNeighbours = 8

// Host is a host on the sandbox's own network, as the kernel knows it.
type Host struct {
	IP      netip.Addr
	MAC     net.HardwareAddr
	Link    string
	Gateway bool
}

// parseARP reads /proc/net/arp. Entries without an answer have no address of the link.
func parseARP(r io.Reader) []Host {
	var hosts []Host
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) != 6 || f[1] != "0x1" {
			continue // The heading, or no Ethernet.
		}
		ip, err := netip.ParseAddr(f[0])
		mac, errMAC := net.ParseMAC(f[3])
		if err != nil || errMAC != nil || len(mac) != 6 || strings.Trim(f[3], "0:") == "" {
			continue
		}
		hosts = append(hosts, Host{IP: ip, MAC: mac, Link: f[5]})
	}
	return hosts
}

// parseGateways reads the default routes of /proc/net/route. Addresses are in the order of the machine's bytes.
func parseGateways(r io.Reader) []netip.Addr {
	var gateways []netip.Addr
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 3 || f[1] != "00000000" {
			continue
		}
		raw, err := hex.DecodeString(f[2])
		if err != nil || len(raw) != 4 || f[2] == "00000000" {
			continue
		}
		gateways = append(gateways, netip.AddrFrom4([4]byte{raw[3], raw[2], raw[1], raw[0]}))
	}
	return gateways
}

// parseGatewaysOfIPv6 reads the default routes of /proc/net/ipv6_route.
func parseGatewaysOfIPv6(r io.Reader) []netip.Addr {
	var gateways []netip.Addr
	for lines := bufio.NewScanner(r); lines.Scan() && len(gateways) < maxNeighbours; {
		f := strings.Fields(lines.Text())
		if len(f) != 10 || f[1] != "00" || strings.Trim(f[0], "0") != "" {
			continue
		}
		raw, err := hex.DecodeString(f[4])
		if err != nil || len(raw) != 16 {
			continue
		}
		ip := netip.AddrFrom16([16]byte(raw))
		if ip.IsUnspecified() {
			continue
		}
		if ip.IsLinkLocalUnicast() {
			ip = ip.WithZone(f[9])
		}
		gateways = append(gateways, ip)
	}
	return gateways
}

// choose puts gateways first, and bounds the others.
func choose(hosts []Host, gateways []netip.Addr) []Host {
	for i := range hosts {
		hosts[i].Gateway = slices.Contains(gateways, hosts[i].IP)
	}
	slices.SortStableFunc(hosts, func(a, b Host) int {
		switch {
		case a.Gateway == b.Gateway:
			return a.IP.Compare(b.IP)
		case a.Gateway:
			return -1
		default:
			return 1
		}
	})
	return hosts[:min(len(hosts), maxNeighbours)]
}

// linkLocal is the address that a host derives from the address of its link (EUI-64).
func linkLocal(mac net.HardwareAddr, link string) netip.Addr {
	ip := [16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]}
	return netip.AddrFrom16(ip).WithZone(link)
}

// broadcast is the last address of a network of IPv4.
func broadcast(p netip.Prefix) netip.Addr {
	ip := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		ip[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(ip)
}
