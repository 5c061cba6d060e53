// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// host is the name that the egress proxy knows the upstream by.
const host = "bench.example.org"

// upstream is a host that answers a ClientHello with one byte, and after it each number of eight bytes with as many bytes.
type upstream struct {
	addr  string
	hello []byte
}

func startUpstream(t *testing.T) *upstream {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	up := &upstream{addr: ln.Addr().String(), hello: clientHello(t)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { up.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return up
}

// serve ends when the other side does, or breaks off.
func (u *upstream) serve(conn net.Conn) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(u.hello))); err != nil {
		return
	}
	if _, err := conn.Write([]byte{0}); err != nil {
		return
	}
	var want [8]byte
	for {
		if _, err := io.ReadFull(conn, want[:]); err != nil {
			return
		}
		block := make([]byte, blockSize)
		for left := int64(binary.BigEndian.Uint64(want[:])); left > 0; {
			n, err := conn.Write(block[:min(left, blockSize)])
			if err != nil {
				return
			}
			left -= int64(n)
		}
	}
}

// clientHello records what crypto/tls sends to the host first. It is the same for every connection of a run.
func clientHello(t *testing.T) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer far.Close()
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		_ = tls.Client(near, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}).Handshake()
	}()
	defer func() { <-failed }()
	defer near.Close()
	_ = far.SetReadDeadline(time.Now().Add(patience))
	record := make([]byte, 5)
	if _, err := io.ReadFull(far, record); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(record[3:]))
	if _, err := io.ReadFull(far, body); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(record, body)
}
