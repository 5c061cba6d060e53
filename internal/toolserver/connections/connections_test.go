// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

// write makes the tables of a namespace. Those that every kernel has are there.
func write(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"tcp", "udp"} {
		if _, ok := content[name]; !ok {
			content[name] = ""
		}
	}
	for name, lines := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(header+lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// line is one of a table: addresses and state in hexadecimal digits.
func line(local, remote, state string) string {
	return fmt.Sprintf("   0: %s %s %s 00000000:00000000 00:00000000 00000000 65532        0 12345 1\n", local, remote, state)
}

func TestForeign(t *testing.T) {
	t.Parallel()
	const pod, peer, manager, proxy, loopback = "0200000A", "0300000A", "0400000A", "0500000A", "0100007F" // 10.0.0.2 to 10.0.0.5, 127.0.0.1
	const pod6, peer6 = "B80D0120000000000000000002000000", "B80D0120000000000000000003000000"             // 2001:db8::2 and ::3
	own := Own{Listen: netip.MustParseAddrPort("10.0.0.2:8443"), Proxy: netip.MustParseAddrPort("10.0.0.5:3128")}
	tests := map[string]struct {
		content map[string]string
		want    string
	}{
		"nothing":                                 {map[string]string{}, ""},
		"the server and its manager":              {map[string]string{"tcp": line(pod+":20FB", "00000000:0000", "0A") + line(pod+":20FB", manager+":C000", "01")}, ""},
		"the proxy":                               {map[string]string{"tcp": line(pod+":C001", proxy+":0C38", "01")}, ""},
		"another port of the proxy's host":        {map[string]string{"tcp": line(pod+":C001", proxy+":0C39", "01")}, "tcp 10.0.0.2:49153 10.0.0.5:3129 established"},
		"a connection to the node":                {map[string]string{"tcp": line(pod+":C001", peer+":2328", "01")}, "tcp 10.0.0.2:49153 10.0.0.3:9000 established"},
		"what is written is on its way":           {map[string]string{"tcp": line(pod+":C001", peer+":2328", "04")}, "tcp 10.0.0.2:49153 10.0.0.3:9000 fin-wait-1"},
		"one that is being made":                  {map[string]string{"tcp": line(pod+":C001", peer+":2328", "02")}, "tcp 10.0.0.2:49153 10.0.0.3:9000 syn-sent"},
		"a state that is not known":               {map[string]string{"tcp": line(pod+":C001", peer+":2328", "1F")}, "tcp 10.0.0.2:49153 10.0.0.3:9000 1F"},
		"over":                                    {map[string]string{"tcp": line(pod+":C001", peer+":2328", "05") + line(pod+":C001", peer+":2328", "06") + line(pod+":C001", peer+":2328", "07")}, ""},
		"the other side is done, this one is not": {map[string]string{"tcp": line(pod+":C001", peer+":2328", "08")}, "tcp 10.0.0.2:49153 10.0.0.3:9000 close-wait"},
		"from the loopback device to elsewhere":   {map[string]string{"tcp": line(loopback+":C001", peer+":2328", "01")}, "tcp 127.0.0.1:49153 10.0.0.3:9000 established"},
		"the server's port at another address":    {map[string]string{"tcp": line("0600000A:20FB", peer+":C001", "01")}, "tcp 10.0.0.6:8443 10.0.0.3:49153 established"},
		"a listener of a tool":                    {map[string]string{"tcp": line("00000000:2328", "00000000:0000", "0A")}, "tcp 0.0.0.0:9000 0.0.0.0:0 listen"},
		"within the sandbox":                      {map[string]string{"tcp": line(loopback+":2328", loopback+":C001", "01") + line(loopback+":2328", "00000000:0000", "0A"), "udp": line(loopback+":2328", "00000000:0000", "07")}, ""},
		"IPv6":                                    {map[string]string{"tcp6": line(pod6+":C001", peer6+":2328", "01")}, "tcp6 [2001:db8::2]:49153 [2001:db8::3]:9000 established"},
		"IPv4 in IPv6":                            {map[string]string{"tcp6": line("0000000000000000FFFF0000"+pod+":20FB", "0000000000000000FFFF0000"+manager+":C000", "01")}, ""},
		"datagrams":                               {map[string]string{"udp": line(pod+":C001", peer+":0035", "01")}, "udp 10.0.0.2:49153 10.0.0.3:53 "},
		"a socket that waits for datagrams":       {map[string]string{"udp6": line(strings.Repeat("0", 32)+":2328", strings.Repeat("0", 32)+":0000", "07")}, "udp6 [::]:9000 [::]:0 "},
		"raw":                                     {map[string]string{"raw": line("00000000:0001", "00000000:0000", "07")}, "raw 0.0.0.0:1 0.0.0.0:0 "},
		"ping":                                    {map[string]string{"icmp": line(pod+":0001", peer+":0000", "01")}, "icmp 10.0.0.2:1 10.0.0.3:0 "},
		"packets":                                 {map[string]string{"packet": "ffff888 3 3 0003 2 1 0 65532 12345\n"}, "packet invalid AddrPort invalid AddrPort "},
		"SCTP":                                    {map[string]string{"sctp/assocs": "ffff888 ffff999 2 1 3 0 1\n"}, "sctp/assocs invalid AddrPort invalid AddrPort "},
		"the address of the server as a peer":     {map[string]string{"tcp": line(pod+":C001", pod+":2328", "01")}, "tcp 10.0.0.2:49153 10.0.0.2:9000 established"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			named, all, err := Foreign(write(t, tt.content), own)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range named {
				got = append(got, fmt.Sprintf("%s %s %s %s", c.Network, c.Local, c.Remote, c.State))
			}
			if strings.Join(got, "\n") != tt.want || all != len(named) {
				t.Errorf("%d: %q, want %q", all, got, tt.want)
			}
		})
	}
}

// An unreadable table or line may hide a connection.
func TestForeignFailsClosed(t *testing.T) {
	t.Parallel()
	without := func(table string) string {
		dir := write(t, map[string]string{})
		if err := os.Remove(filepath.Join(dir, table)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for name, dir := range map[string]string{
		"no table of TCP":   without("tcp"),
		"no table of UDP":   without("udp"),
		"half a line":       write(t, map[string]string{"tcp": "   0: 0200000A:C001\n"}),
		"no address":        write(t, map[string]string{"tcp": line("0200000A", "0300000A:2328", "01")}),
		"an odd address":    write(t, map[string]string{"udp": line("0200000A00:C001", "0300000A:2328", "01")}),
		"no state":          write(t, map[string]string{"tcp": line("0200000A:C001", "0300000A:2328", "zz")}),
		"an unending line":  write(t, map[string]string{"tcp": strings.Repeat("x", 2*maxLine)}),
		"a folder, no file": write(t, map[string]string{"raw/x": ""}),
	} {
		if named, all, err := Foreign(dir, Own{}); err == nil {
			t.Errorf("%s: %v %d", name, named, all)
		}
	}
}

func TestManyConnectionsAreCounted(t *testing.T) {
	t.Parallel()
	named, all, err := Foreign(write(t, map[string]string{"tcp": strings.Repeat(line("0200000A:C001", "0300000A:2328", "01"), 100000)}), Own{})
	if err != nil || len(named) != maxNamed || all != 100000 {
		t.Errorf("%d of %d, %v", len(named), all, err)
	}
}

// The order of the bytes is this machine's, which made-up tables cannot show.
func TestTheKernelsTables(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	want := netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(ln.Addr().(*net.TCPAddr).Port))
	found := false
	err = tables[0].read(DefaultTables, func(c Connection) { found = found || c.Local == want && c.State == "listen" })
	if err != nil || !found {
		t.Errorf("the listener at %s is not in the table: %v", want, err)
	}
	if _, _, err := Foreign(DefaultTables, Own{}); err != nil {
		t.Error(err)
	}
}
