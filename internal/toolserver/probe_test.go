// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestProbe(t *testing.T) {
	s := newSandbox(t)
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	answering, silent, gone := udp(t), udp(t), udp(t)
	_ = gone.Close()
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := answering.ReadFrom(buf)
			if err != nil {
				return
			}
			if n != len(dnsQuery) {
				t.Errorf("the query has %d bytes", n)
			}
			_, _ = answering.WriteTo([]byte("x"), from)
		}
	}()
	want := []struct {
		network, address string
		reached          bool
	}{
		{"tcp", open.Addr().String(), true},
		{"tcp", closed.Addr().String(), false}, // Refused, by the host or a firewall in its name.
		{"tcp", deaf(t), false},
		{"udp", answering.LocalAddr().String(), true},
		{"udp", silent.LocalAddr().String(), false},
		{"udp", gone.LocalAddr().String(), false}, // The host or a firewall answers: port unreachable.
	}
	for range 10 { // One after the other they would take half a minute.
		want = append(want, want[4])
	}
	req := toolapi.ProbeRequest{TimeoutMs: 3000}
	for _, w := range want {
		req.Targets = append(req.Targets, toolapi.ProbeTarget{Name: w.network + " " + w.address, Network: w.network, Address: w.address})
	}
	began := time.Now()
	resp, err := s.client(1).Probe(testContext(t), req)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range resp.Results {
		if r.Reached != want[i].reached || r.Name != req.Targets[i].Name || !r.Reached && r.Detail == "" {
			t.Errorf("%+v, want reached %v", r, want[i].reached)
		}
	}
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("took %s: the targets are not tried side by side", took)
	}
}

func udp(t *testing.T) net.PacketConn {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// deaf returns an address that does not answer: of a listener whose queue is full, the kernel drops new connections.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = syscall.Listen(fd, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	for range 10 {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the queue of a listener does not fill")
	return ""
}

// The forms of IPv6 addresses are tried as a program would: an IPv4 address that is mapped into one leads to the same place.
func TestProbeIPv6(t *testing.T) {
	s := newSandbox(t)
	four, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer four.Close()
	_, port, err := net.SplitHostPort(four.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	targets := []toolapi.ProbeTarget{
		{Name: "mapped", Network: "tcp", Address: "[::ffff:127.0.0.1]:" + port},
		{Name: "no way", Network: "tcp", Address: "[fd00:dead::1]:" + port},
		{Name: "no way, udp", Network: "udp", Address: "[fd00:dead::1]:" + port},
		{Name: "documentation", Network: "tcp", Address: "[2001:db8::1]:" + port},
		{Name: "zone", Network: "tcp", Address: "[fe80::1%lo]:" + port},
	}
	want := []bool{true, false, false, false, false}
	if six, err := net.Listen("tcp6", "[::1]:0"); err == nil { // There are machines without IPv6.
		defer six.Close()
		targets, want = append(targets, toolapi.ProbeTarget{Name: "itself", Network: "tcp", Address: six.Addr().String()}), append(want, true)
	}
	resp, err := s.client(1).Probe(testContext(t), toolapi.ProbeRequest{Targets: targets, TimeoutMs: 3000})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range resp.Results {
		if r.Reached != want[i] {
			t.Errorf("%+v", r)
		}
	}
}
