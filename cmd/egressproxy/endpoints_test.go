// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// Strangers who hold connections keep neither the node nor a Prometheus out, and the proxy holds no more connections than its bound.
func TestStrangersKeepNoProbeOut(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, bounded := endpoint(listener, probes(func() bool { return true }))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(bounded) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	dial := func(from string) net.Conn {
		t.Helper()
		d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := dial("127.0.1.1")
	for n := range endpointConnections {
		c := dial(fmt.Sprintf("127.0.1.%d", 1+n%4))
		if _, err := io.WriteString(c, "GET /readyz HTTP/1.1\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	node := dial("127.0.0.1")
	if _, err := io.WriteString(node, "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(node), nil)
	if err != nil {
		t.Fatalf("the node is not answered: %v", err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the node gets %s", answer.Status)
	}
	_, err = first.Read(make([]byte, 1))
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		t.Error("the first of more connections than the bound is open")
	}
}
