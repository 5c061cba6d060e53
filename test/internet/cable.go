// SPDX-License-Identifier: Apache-2.0

//go:build linux

package internet

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Packet is a packet that left the cluster.
type Packet struct {
	From, To netip.Addr
	// Protocol is the number that IP knows it by: 1 ICMP, 6 TCP, 17 UDP.
	Protocol uint8
	// Port is where it is sent to, 0 if the protocol has none.
	Port uint16
}

func (p Packet) String() string {
	return fmt.Sprintf("%s → %s:%d (protocol %d)", p.From, p.To, p.Port, p.Protocol)
}

// Cable hears what leaves the cluster.
type Cable struct {
	mu   sync.Mutex
	seen map[Packet]int
}

// Heard returns each kind of packet that left the cluster so far, in an order of its own, for which keep is true.
func (c *Cable) Heard(keep func(Packet) bool) []Packet {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Packet
	for p := range c.seen {
		if keep(p) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Packet) int {
		if d := a.From.Compare(b.From); d != 0 {
			return d
		}
		if d := a.To.Compare(b.To); d != 0 {
			return d
		}
		return int(a.Port) - int(b.Port)
	})
	return list
}

// Count is how many packets left the cluster so far for which keep is true.
func (c *Cable) Count(keep func(Packet) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for p, times := range c.seen {
		if keep(p) {
			n += times
		}
	}
	return n
}

func (c *Cable) note(p Packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[p]++
}

// tap listens at the far end of the cable.
func (i *Internet) tap(ctx context.Context) (*Cable, error) {
	c := &Cable{seen: map[Packet]int{}}
	var fd int
	err := i.space.do(func() error {
		link, err := interfaceIndex(farLink)
		if err != nil {
			return err
		}
		all := int(htons(unix.ETH_P_ALL))
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, all); err != nil {
			return fmt.Errorf("open a packet socket: %w", err)
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: link})
	})
	if err != nil {
		return nil, err
	}
	// A short wait for each packet, so that the end of the context is seen.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		return nil, err
	}
	i.wg.Go(func() {
		defer func() { _ = unix.Close(fd) }()
		buffer := make([]byte, 256)
		for ctx.Err() == nil {
			n, from, err := unix.Recvfrom(fd, buffer, 0)
			if err != nil {
				continue
			}
			if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == unix.PACKET_OUTGOING {
				continue
			}
			if p, ok := parse(buffer[:n]); ok {
				c.note(p)
			}
		}
	})
	return c, nil
}

// parse reads the beginning of an IP packet. What is no IP (ARP) says nothing that a sandbox could choose.
func parse(b []byte) (Packet, bool) {
	var p Packet
	var rest []byte
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		p.From, p.To = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		p.Protocol, rest = b[9], b[min(len(b), int(b[0]&15)*4):]
	case len(b) >= 40 && b[0]>>4 == 6:
		p.From, p.To = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		p.Protocol, rest = b[6], b[40:]
	default:
		return p, false
	}
	if (p.Protocol == unix.IPPROTO_TCP || p.Protocol == unix.IPPROTO_UDP) && len(rest) >= 4 {
		p.Port = binary.BigEndian.Uint16(rest[2:4])
	}
	return p, true
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }
