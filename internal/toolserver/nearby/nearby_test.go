// SPDX-License-Identifier: Apache-2.0

package nearby

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

const arp = `IP address       HW type     Flags       HW address            Mask     Device
10.244.0.7       0x1         0x2         32:f1:94:75:c8:9b     *        eth0
10.244.0.1       0x1         0x2         6a:2b:08:51:92:10     *        eth0
10.244.0.9       0x1         0x0         00:00:00:00:00:00     *        eth0
10.244.0.10      0x20        0x2         32:f1:94:75:c8:9c     *        ib0
nonsense         0x1         0x2         xx                    *        eth0
`

const routes = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0100F40A	0003	0	0	0	00000000	0	0	0
eth0	0000F40A	00000000	0001	0	0	0	00FFFFFF	0	0	0
`

func TestNeighbours(t *testing.T) {
	gateways := parseGateways(strings.NewReader(routes))
	if len(gateways) != 1 || gateways[0].String() != "10.244.0.1" {
		t.Fatalf("gateways %v", gateways)
	}
	var got []string
	for _, h := range choose(parseARP(strings.NewReader(arp)), gateways) {
		got = append(got, fmt.Sprint(h.IP, h.Gateway, linkLocal(h.MAC, h.Link)))
	}
	want := []string{"10.244.0.1 true fe80::682b:8ff:fe51:9210%eth0", "10.244.0.7 false fe80::30f1:94ff:fe75:c89b%eth0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNeighboursAreBounded(t *testing.T) {
	var hosts []Host
	for i := range 200 {
		hosts = append(hosts, Host{IP: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), MAC: make(net.HardwareAddr, 6)})
	}
	got := choose(hosts, []netip.Addr{netip.MustParseAddr("10.0.0.150")})
	if len(got) != maxNeighbours || got[0].IP.String() != "10.0.0.150" {
		t.Errorf("%d, first %s", len(got), got[0].IP)
	}
}

func TestGatewaysOfIPv6(t *testing.T) {
	const zero = "00000000000000000000000000000000"
	text := strings.Join([]string{
		zero + " 00 " + zero + " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0",
		zero + " 00 " + zero + " 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003 eth0",
		zero + " 00 " + zero + " 00 " + zero + " ffffffff 00000001 00000000 00200200 lo",
		"fe800000000000000000000000000000 40 " + zero + " 00 " + zero + " 00000100 00000001 00000000 00000001 eth0",
		zero + " 08 " + zero + " 00 fd000000000000000000000000000002 00000400 00000001 00000000 00000003 eth0",
		"nonsense",
	}, "\n")
	got := parseGatewaysOfIPv6(strings.NewReader(text))
	if want := []netip.Addr{netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("fd00::1")}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBroadcast(t *testing.T) {
	for network, want := range map[string]string{"10.244.0.9/24": "10.244.0.255", "10.1.2.3/20": "10.1.15.255", "192.0.2.1/32": "192.0.2.1"} {
		if got := broadcast(netip.MustParsePrefix(network)).String(); got != want {
			t.Errorf("%s: %s, want %s", network, got, want)
		}
	}
}
