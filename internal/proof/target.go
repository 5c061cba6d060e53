// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// kubeletPort is the port of every kubelet, apiServerPort that of the API server on the nodes that have one.
	kubeletPort   = "10250"
	apiServerPort = "6443"
	// maxNodeAddresses is how many addresses of its node a sandbox is tested against. A dual-stack node has four: each
	// family has one internal and one external address.
	maxNodeAddresses = 8
	// targetsOfAddress is the most targets that one address has.
	targetsOfAddress = 4
)

// nat64 is the network through which a gateway reaches IPv4 addresses from a network of IPv6 alone (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// NodeAddresses returns the addresses of a sandbox's node: the one that is known, those of the Pod, and those of the Node. Each of the objects can be
// empty. A policy may block one address, or one family, and leave another one open.
func NodeAddresses(known string, pod *corev1.Pod, node *corev1.Node) []netip.Addr {
	texts := []string{known}
	for _, ip := range pod.Status.HostIPs {
		texts = append(texts, ip.IP)
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			texts = append(texts, a.Address)
		}
	}
	return parseAddresses(texts)
}

// parseAddresses reads addresses, each once and in their order, and omits invalid ones.
func parseAddresses(texts []string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.IsUnspecified() {
			continue
		}
		// A node names an IPv4 address in either form.
		if ip = ip.Unmap().WithZone(""); !slices.Contains(list, ip) && len(list) < maxNodeAddresses {
			list = append(list, ip)
		}
	}
	return list
}

// targets adds the addresses of the sandbox's node to those that no sandbox may reach, up to the limit of one probe. The first address
// is always added, the others if they fit.
func targets(common []toolapi.ProbeTarget, nodes []netip.Addr) []toolapi.ProbeTarget {
	list := slices.Clone(common)
	for i, node := range nodes {
		if i > 0 && len(list)+targetsOfAddress > toolapi.MaxProbeTargets {
			break
		}
		which := ""
		if i > 0 {
			which = fmt.Sprintf(", address %d", i+1)
		}
		tcp := func(name string, ip netip.Addr, port string) {
			list = append(list, toolapi.ProbeTarget{Name: name, Network: "tcp", Address: net.JoinHostPort(ip.String(), port)})
		}
		tcp("the node's kubelet"+which, node, kubeletPort)
		tcp("the node's API server"+which, node, apiServerPort)
		if node.Is4() {
			// A policy that was written for one family of addresses must not leave the other one open.
			tcp("the node's kubelet (IPv4 in IPv6)"+which, netip.AddrFrom16(node.As16()), kubeletPort)
			tcp("the node's kubelet (NAT64)"+which, embed(nat64, node), kubeletPort)
		}
	}
	return list
}

// embed puts an IPv4 address into the last four bytes of a network.
func embed(network netip.Prefix, ip netip.Addr) netip.Addr {
	whole, low := network.Addr().As16(), ip.As4()
	copy(whole[12:], low[:])
	return netip.AddrFrom16(whole)
}
