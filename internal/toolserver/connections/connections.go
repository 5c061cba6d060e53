// SPDX-License-Identifier: Apache-2.0

// Package connections reads from the kernel which connections a network namespace has.
//
// The package asks the kernel and no program: a program of the sandbox that holds a connection has every reason not to report it. A socket
// outlives the process that made it while its written bytes are still on their way. So connections can remain after all processes are gone.
package connections

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// DefaultTables is the folder with the tables of the network namespace of this process.
const DefaultTables = "/proc/self/net"

const (
	// maxNamed is how many connections are named.
	maxNamed = 16
	// maxLine is the longest line of a table in bytes. The kernel's have about 200.
	maxLine = 4 << 10
)

// Own identifies the connections that belong to the sandbox itself.
type Own struct {
	// Listen is where the tool server listens. An unspecified address means every address with this port.
	Listen netip.AddrPort
	// Proxy is the address of the egress proxy, the zero AddrPort if there is no way out.
	Proxy netip.AddrPort
}

// Connection is a connection, or a socket that could take or send something.
type Connection struct {
	// Network is the name of the kernel's table, such as tcp6.
	Network string
	// Local and Remote are as the table has them, without meaning if it has no addresses.
	Local, Remote netip.AddrPort
	// State is that of TCP, in words, "" for sockets without one.
	State string
}

// table is one of the kernel's tables.
type table struct {
	name string
	// required is true for a table that every kernel has. If it is missing, the state of the sandbox is unknown, and nothing is assumed.
	required bool
	// bare is true if every line but the first is a socket, in any state.
	bare bool
	// stateful is true if the state of a socket is that of TCP.
	stateful bool
}

var tables = []table{
	{name: "tcp", required: true, stateful: true},
	{name: "tcp6", stateful: true},
	{name: "udp", required: true},
	{name: "udp6"}, {name: "udplite"}, {name: "udplite6"}, {name: "icmp"}, {name: "icmp6"}, {name: "raw"}, {name: "raw6"},
	{name: "packet", bare: true}, {name: "sctp/assocs", bare: true}, {name: "sctp/eps", bare: true},
}

// States of TCP (include/net/tcp_states.h).
const (
	finWait2 = 0x05
	timeWait = 0x06
	closed   = 0x07
)

var stateNames = map[uint64]string{
	0x01: "established", 0x02: "syn-sent", 0x03: "syn-received", 0x04: "fin-wait-1", 0x08: "close-wait", 0x09: "last-ack", 0x0A: "listen",
	0x0B: "closing", 0x0C: "syn-received",
}

// Foreign returns the connections of the tables in a folder that are neither own nor of the loopback device: at most 16 of them, and how
// many there are in all. A connection of TCP that can carry nothing any more does not count. After an error, nothing is known about the
// connections.
func Foreign(dir string, own Own) (named []Connection, all int, err error) {
	for _, t := range tables {
		err := t.read(dir, func(c Connection) {
			if own.has(c) {
				return
			}
			all++
			if len(named) < maxNamed {
				named = append(named, c)
			}
		})
		if errors.Is(err, fs.ErrNotExist) && !t.required {
			continue // The kernel does not have this family, so there are no sockets of it either.
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read the connections of the network namespace: %w", err)
		}
	}
	return named, all, nil
}

// has reports whether a connection belongs there.
func (o Own) has(c Connection) bool {
	local, remote := unmapped(c.Local), unmapped(c.Remote)
	if c.Network != "tcp" && c.Network != "tcp6" {
		return local.Addr().IsLoopback()
	}
	listen, proxy := unmapped(o.Listen), unmapped(o.Proxy)
	switch {
	case local.Addr().IsLoopback() && (remote.Addr().IsLoopback() || c.State == "listen"):
		return true
	case listen.IsValid() && local == listen, listen.Addr().IsUnspecified() && local.Port() == listen.Port():
		return true
	}
	return proxy.IsValid() && remote == proxy
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// read returns the sockets of a table one by one, so that a sandbox that made a hundred thousand of them costs time and no memory.
func (t table) read(dir string, found func(Connection)) error {
	file, err := os.Open(filepath.Join(dir, t.name))
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	for lines.Scan() && len(strings.TrimSpace(lines.Text())) == 0 {
	}
	for lines.Scan() {
		c := Connection{Network: t.name}
		dead := false
		if !t.bare {
			if c, dead, err = t.parse(lines.Text()); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		if !dead {
			found(c)
		}
	}
	return lines.Err()
}

// parse reads a line, and reports whether the connection can carry nothing any more.
//
//	sl: local_address rem_address st …
func (t table) parse(line string) (c Connection, dead bool, err error) {
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return c, false, fmt.Errorf("the line %.64q is not understood", line)
	}
	c.Network = t.name
	if c.Local, err = address(fields[1]); err != nil {
		return c, false, err
	}
	if c.Remote, err = address(fields[2]); err != nil {
		return c, false, err
	}
	state, err := strconv.ParseUint(fields[3], 16, 8)
	if err != nil {
		return c, false, fmt.Errorf("the state %.16q is not understood", fields[3])
	}
	if !t.stateful {
		return c, false, nil
	}
	c.State = stateNames[state]
	if c.State == "" {
		c.State = fields[3]
	}
	return c, state == finWait2 || state == timeWait || state == closed, nil
}

// address reads ADDRESS:PORT in hexadecimal digits. The kernel prints an address as words of 32 bits in the order of the machine.
func address(text string) (netip.AddrPort, error) {
	wrong := fmt.Errorf("the address %.48q is not understood", text)
	host, port, ok := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, wrong
	}
	raw, err := hex.DecodeString(host)
	if err != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, wrong
	}
	for at := 0; at < len(raw); at += 4 {
		binary.NativeEndian.PutUint32(raw[at:], binary.BigEndian.Uint32(raw[at:]))
	}
	ip, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip, uint16(number)), nil
}
