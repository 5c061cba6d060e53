// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// breaker is a way to the server whose connections the test can cut.
type breaker struct {
	address string
	to      string
	mu      sync.Mutex
	open    map[net.Conn]bool
	made    int
}

func newBreaker(t *testing.T, to string) *breaker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	b := &breaker{address: ln.Addr().String(), to: to, open: make(map[net.Conn]bool)}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go b.serve(conn)
		}
	}()
	return b
}

func (b *breaker) serve(client net.Conn) {
	server, err := net.Dial("tcp", b.to)
	if err != nil {
		_ = client.Close()
		return
	}
	b.mu.Lock()
	b.made++
	b.open[client], b.open[server] = true, true
	b.mu.Unlock()
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	_, _ = io.Copy(server, client)
	_ = server.Close()
}

// cut breaks every connection and returns how many were made so far.
func (b *breaker) cut() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for conn := range b.open {
		_ = conn.Close()
	}
	clear(b.open)
	return b.made
}

func (b *breaker) total() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.made
}

// await returns when the condition holds, and fails the test if that takes too long.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(15 * time.Second)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not after 15 s", what)
		}
	}
}

// Connections break again and again while a call runs; it runs once, and its result arrives.
func TestCallSurvivesBrokenConnections(t *testing.T) {
	p := newPod(t)
	ctx := testContext(t)
	b := newBreaker(t, p.address)
	c := p.client(func(c *toolclient.Config) { c.Address = b.address; c.Unreachable = 10 * time.Second })
	done := make(chan error, 1)
	go func() {
		r, err := c.Call(ctx, bash("a", "echo run >> runs; mkfifo go; read x < go; echo done"))
		if err == nil && r.Output != "done\n" {
			err = fmt.Errorf("the result is %+v", r)
		}
		done <- err
	}()
	await(t, "the start of the call", func() bool { return p.count() == 1 })
	for range 3 {
		before := b.cut()
		await(t, "a new connection", func() bool { return b.total() > before })
	}
	var release *os.File
	await(t, "the call's pipe", func() bool {
		var err error
		release, err = os.OpenFile(p.config.Workspace+"/go", os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	if err := errors.Join(release.Close(), <-done); err != nil {
		t.Error(err)
	}
	if p.count() != 1 {
		t.Errorf("the call ran %d times", p.count())
	}
}

// The tool server restarts while the client waits. The stopped server ended the call and recorded that.
func TestCallSurvivesARestart(t *testing.T) {
	p := newPod(t)
	b := newBreaker(t, p.address)
	c := p.client(func(c *toolclient.Config) { c.Address = b.address; c.Unreachable = 10 * time.Second })
	done := make(chan toolapi.Result, 1)
	go func() {
		r, err := c.Call(testContext(t), bash("a", "echo run >> runs; sleep 100"))
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	await(t, "the start of the call", func() bool { return p.count() == 1 })
	b.cut()
	p.stop()
	p.start()
	if r := <-done; r.ErrorCode != toolapi.CodeKilled || p.count() != 1 {
		t.Errorf("%+v, %d runs", r, p.count())
	}
}
