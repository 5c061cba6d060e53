// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
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

// A manager that takes a run over must know whether the isolation was proved to this process.
func TestProbesAreCounted(t *testing.T) {
	s := newSandbox(t)
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed := toolapi.ProbeTarget{Name: "closed", Network: "tcp", Address: "127.0.0.1:1"}
	reached := toolapi.ProbeTarget{Name: "open", Network: "tcp", Address: open.Addr().String()}
	tries := func() int32 {
		t.Helper()
		h, err := s.client(1).Hello(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if h.Probed == nil {
			return 0
		}
		if h.Probed.Confinement == nil || h.Probed.OverMs < 0 {
			t.Errorf("%+v", h.Probed)
		}
		return h.Probed.Tries
	}
	if n := tries(); n != 0 {
		t.Errorf("before the first probe it is %d", n)
	}
	for i, tt := range []struct {
		target toolapi.ProbeTarget
		want   int32
	}{{closed, 1}, {closed, 2}, {reached, 0}, {closed, 1}} {
		if _, err := s.client(1).Probe(testContext(t), toolapi.ProbeRequest{TimeoutMs: 3000, Targets: []toolapi.ProbeTarget{tt.target}}); err != nil {
			t.Fatal(err)
		}
		if n := tries(); n != tt.want {
			t.Errorf("after probe %d it is %d, want %d", i, n, tt.want)
		}
	}
	// A probe that is cut off has reached nothing, and shows nothing.
	outcome := make(chan error, 1)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		_, err := s.server.probe(&request.Request{Request: r.WithContext(ctx), Control: http.NewResponseController(w)}) //nolint:contextcheck // It is in the request.
		outcome <- err
	}))
	defer h.Close()
	body, err := json.Marshal(toolapi.ProbeRequest{TimeoutMs: 3000, Targets: []toolapi.ProbeTarget{reached}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(h.URL, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := <-outcome; !errors.Is(err, context.Canceled) {
		t.Errorf("a probe that was cut off: %v", err)
	}
	if n := tries(); n != 1 {
		t.Errorf("after a probe that was cut off it is %d", n)
	}
}

func TestBlockedProbes(t *testing.T) {
	t.Parallel()
	s, at := &Server{}, func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	for i, tt := range []struct {
		targets      string
		blocked      bool
		began, ended int
		want         blockedProbes
	}{
		{"a", true, 0, 100, blockedProbes{"a", 1, at(100), at(0)}},
		{"a", true, 100, 200, blockedProbes{"a", 2, at(100), at(100)}},
		{"a", true, 250, 300, blockedProbes{"a", 3, at(100), at(250)}},
		{"a", false, 300, 301, blockedProbes{}},
		{"a", true, 350, 351, blockedProbes{"a", 1, at(351), at(350)}},
		{"b", true, 352, 353, blockedProbes{"b", 1, at(353), at(352)}},
		{"b", true, 354, 355, blockedProbes{"b", 2, at(353), at(354)}},
	} {
		if s.countProbe(tt.targets, tt.blocked, at(tt.began), at(tt.ended)); s.blocked != tt.want {
			t.Errorf("after %d: %+v", i, s.blocked)
		}
	}
	for range 2 * maxBlocked {
		s.countProbe("b", true, at(400), at(500))
	}
	if s.blocked.tries != maxBlocked {
		t.Errorf("it grows to %d", s.blocked.tries)
	}
}
