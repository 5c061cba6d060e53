// SPDX-License-Identifier: Apache-2.0

//go:build linux

package nearby

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
)

// Try is one address that was tried, or one that answered a call to all.
type Try struct {
	Name    string
	IPv6    bool
	Reached bool
	Detail  string
}

var (
	// sixPorts are where the API server, the kubelet, a node's SSH, managers, proxies, name servers and tool servers listen.
	sixPorts = []string{"6443", "10250", "22", "8080", "8081", "3128", "53", "8443"}
	// fourPorts are those without the proxy's, to which the sandbox may have a way.
	fourPorts = []string{"6443", "10250", "22", "8080", "8081", "53", "8443"}
)

// Look tries everything that it finds, side by side, until the context ends. question is a datagram that a name server answers.
func Look(ctx context.Context, question []byte) []Try {
	var (
		mu    sync.Mutex
		tries []Try
		all   sync.WaitGroup
	)
	add := func(found ...Try) {
		mu.Lock()
		defer mu.Unlock()
		tries = append(tries, found...)
	}
	for _, h := range Hosts() {
		for _, port := range fourPorts {
			all.Go(func() { add(connect(ctx, h, h.IP, port)) })
		}
		for _, port := range sixPorts {
			all.Go(func() { add(connect(ctx, h, linkLocal(h.MAC, h.Link), port)) })
		}
	}
	for _, ip := range gatewaysOfIPv6() {
		for _, port := range sixPorts {
			all.Go(func() { add(connect(ctx, Host{Gateway: true}, ip, port)) })
		}
	}
	for _, link := range links() {
		for _, s := range link.shouts(question) {
			all.Go(func() { add(call(ctx, link, s)...) })
		}
	}
	all.Wait()
	slices.SortFunc(tries, func(a, b Try) int { return strings.Compare(a.Name, b.Name) })
	return tries
}

// Hosts are the hosts in the kernel's neighbour table. The kernel adds one at each try of an address in the same network.
func Hosts() []Host {
	arp, err := os.Open("/proc/net/arp")
	if err != nil {
		return nil
	}
	defer arp.Close()
	hosts := parseARP(arp)
	route, err := os.Open("/proc/net/route")
	if err != nil {
		return choose(hosts, nil)
	}
	defer route.Close()
	return choose(hosts, parseGateways(route))
}

func gatewaysOfIPv6() []netip.Addr {
	file, err := os.Open("/proc/net/ipv6_route")
	if err != nil {
		return nil // There is no IPv6.
	}
	defer file.Close()
	return parseGatewaysOfIPv6(file)
}

// HasIPv6 reports whether an interface has an address of IPv6 that is not the loopback's.
func HasIPv6() bool { return slices.ContainsFunc(links(), func(l link) bool { return l.six }) }

func connect(ctx context.Context, h Host, ip netip.Addr, port string) Try {
	who := "a neighbour"
	if h.Gateway {
		who = "the gateway"
	}
	address := net.JoinHostPort(ip.String(), port)
	t := Try{Name: fmt.Sprintf("%s at %s", who, address), IPv6: ip.Is6()}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Detail = err.Error()
		return t
	}
	_ = conn.Close()
	t.Reached = true
	return t
}

// link is an interface of the sandbox that leads out.
type link struct {
	name string
	own  []netip.Addr
	// broadcasts are those of its networks of IPv4.
	broadcasts []netip.Addr
	six        bool
}

func links() []link {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var found []link
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		l := link{name: i.Name}
		for _, a := range addresses {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			l.own = append(l.own, prefix.Addr())
			if prefix.Addr().Is6() {
				l.six = true
			} else if prefix.Bits() < 31 {
				l.broadcasts = append(l.broadcasts, broadcast(prefix))
			}
		}
		found = append(found, l)
	}
	return found
}

// shout is a question to everything that listens to an address.
type shout struct {
	to       netip.AddrPort
	question []byte
}

var (
	// mdnsQuery asks all that speak multicast DNS which services they have, and to answer to the asker alone.
	mdnsQuery = []byte("\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x09_services\x07_dns-sd\x04_udp\x05local\x00\x00\x0c\x80\x01")
	// ssdpQuery asks all SSDP devices to identify themselves.
	ssdpQuery = []byte("M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\nMX: 1\r\nST: ssdp:all\r\n\r\n")
)

// shouts are the ways by which a program speaks to everything on the link at once. It needs to join no group for that.
func (l link) shouts(question []byte) []shout {
	to := func(text string, port uint16, question []byte) shout {
		ip := netip.MustParseAddr(text)
		if ip.Is6() {
			ip = ip.WithZone(l.name)
		}
		return shout{netip.AddrPortFrom(ip, port), question}
	}
	all := []shout{
		to("255.255.255.255", 53, question), to("224.0.0.1", 53, question), to("224.0.0.251", 5353, mdnsQuery), to("239.255.255.250", 1900, ssdpQuery),
	}
	for _, ip := range l.broadcasts {
		all = append(all, shout{netip.AddrPortFrom(ip, 53), question})
	}
	if l.six {
		all = append(all, to("ff02::1", 53, question), to("ff02::fb", 5353, mdnsQuery))
	}
	return all
}

// call asks all listeners, and returns the first one that answers.
func call(ctx context.Context, l link, s shout) []Try {
	network, name := "udp4", "an answer to "+s.to.String()
	if s.to.Addr().Is6() {
		network = "udp6"
	}
	nothing := Try{Name: name, IPv6: s.to.Addr().Is6()}
	conn, err := new(net.ListenConfig).ListenPacket(ctx, network, "")
	if err != nil {
		nothing.Detail = err.Error()
		return []Try{nothing}
	}
	defer func() { _ = conn.Close() }()
	end, _ := ctx.Deadline()
	if err := conn.SetDeadline(end); err != nil {
		nothing.Detail = err.Error()
		return []Try{nothing}
	}
	if _, err := conn.WriteTo(s.question, net.UDPAddrFromAddrPort(s.to)); err != nil {
		nothing.Detail = err.Error()
		return []Try{nothing}
	}
	for answer := make([]byte, 512); ; {
		_, from, err := conn.ReadFrom(answer)
		if err != nil {
			nothing.Detail = err.Error()
			return []Try{nothing}
		}
		if a, err := netip.ParseAddrPort(from.String()); err == nil && !l.isOwn(a.Addr()) {
			return []Try{{Name: name + " from " + a.String(), IPv6: nothing.IPv6, Reached: true}}
		}
	}
}

func (l link) isOwn(ip netip.Addr) bool {
	return ip.IsLoopback() || slices.ContainsFunc(l.own, func(o netip.Addr) bool { return o.WithZone("") == ip.Unmap().WithZone("") })
}
