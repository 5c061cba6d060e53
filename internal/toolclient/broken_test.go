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
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// breaker is a connection to the server that the test can cut.
type breaker struct {
	address string
	to      string
	mu      sync.Mutex
	open    map[net.Conn]bool
	made    int
	// lost is closed when the server's data no longer reaches the connections that are open then.
	lost chan struct{}
}

func newBreaker(t *testing.T, to string) *breaker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	b := &breaker{address: ln.Addr().String(), to: to, open: make(map[net.Conn]bool), lost: make(chan struct{})}
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
	lost := b.lost
	b.mu.Unlock()
	go func() {
		if _, err := io.Copy(losing{client, lost}, server); errors.Is(err, errLost) {
			return // The client learns nothing, not even that.
		}
		_ = client.Close()
	}()
	_, _ = io.Copy(server, client)
	_ = server.Close()
}

// losing is a connection that loses what is written to it once the channel is closed.
type losing struct {
	net.Conn
	lost <-chan struct{}
}

var errLost = errors.New("lost")

func (l losing) Write(p []byte) (int, error) {
	select {
	case <-l.lost:
		return 0, errLost
	default:
		return l.Conn.Write(p)
	}
}

// lose leaves every connection open, and passes no more data to the client.
func (b *breaker) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.lost)
	b.lost = make(chan struct{})
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
	deadline := time.After(2 * time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not after 2 minutes", what)
		}
	}
}

// Connections break again and again while a call runs; it runs once, and its result arrives.
func TestCallSurvivesBrokenConnections(t *testing.T) {
	p := newPod(t)
	ctx := testContext(t)
	b := newBreaker(t, p.address)
	c := p.client(func(c *toolclient.Config) { c.Address = b.address; c.Unreachable = time.Minute })
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
	p.release("go")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if p.count() != 1 {
		t.Errorf("the call ran %d times", p.count())
	}
}

// The tool server restarts while the client waits. The stopped server ended the call half way.
func TestCallSurvivesARestart(t *testing.T) {
	p := newPod(t)
	b := newBreaker(t, p.address)
	c := p.client(func(c *toolclient.Config) { c.Address = b.address; c.Unreachable = time.Minute })
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
	if r := <-done; r.ErrorCode != toolapi.CodeOutcomeUnknown || p.count() != 1 {
		t.Errorf("%+v, %d runs", r, p.count())
	}
}

// The connection on which the client waits is silently dead, and the server answers on others.
func TestAnswerThatNeverArrives(t *testing.T) {
	p := newPod(t)
	b := newBreaker(t, p.address)
	c := p.client(func(c *toolclient.Config) { c.Address = b.address; c.Unreachable = 6 * time.Second })
	done := make(chan toolapi.Result, 1)
	go func() {
		r, err := c.Call(testContext(t), bash("a", "echo run >> runs; mkfifo go; read x < go; echo done"))
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	await(t, "the start of the call", func() bool { return p.count() == 1 })
	b.lose()
	p.release("go")
	if r := <-done; r.Output != "done\n" || p.count() != 1 {
		t.Errorf("%+v, %d runs", r, p.count())
	}
}

// While the server is down the client reports that it cannot be reached, and not that anything is wrong with it.
func TestCallDuringARestart(t *testing.T) {
	p := newPod(t)
	c := p.client(nil)
	call := bash("a", "echo run >> runs; sleep 100")
	lost := make(chan error, 1)
	go func() { _, err := c.Call(testContext(t), call); lost <- err }()
	await(t, "the start of the call", func() bool { return p.count() == 1 })
	// A killed server leaves the ledger in its current state.
	torn, err := os.ReadFile(p.config.State + "/ledger")
	if err != nil {
		t.Fatal(err)
	}
	b := newBreaker(t, p.address)
	p.stop()
	if err := os.WriteFile(p.config.State+"/ledger", torn, 0o600); err != nil {
		t.Fatal(err)
	}
	<-lost
	for _, c := range []*toolclient.Client{c, p.client(nil), p.client(func(c *toolclient.Config) { c.Address = b.address })} {
		_, err := c.Call(testContext(t), call)
		if remote, ok := errors.AsType[*toolclient.RemoteError](err); !errors.Is(err, toolclient.ErrUnreachable) || ok {
			t.Errorf("%v %v", err, remote)
		}
	}
	p.start()
	if r, err := c.Call(testContext(t), call); err != nil || r.ErrorCode != toolapi.CodeOutcomeUnknown || p.count() != 1 {
		t.Errorf("%+v %v, %d runs", r, err, p.count())
	}
}
