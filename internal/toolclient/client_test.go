// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

func TestConfigIsChecked(t *testing.T) {
	_, cert := newKey(t)
	good := toolclient.Config{Address: "127.0.0.1:1", PodUID: "x", ClientCert: cert}
	for name, change := range map[string]func(*toolclient.Config){
		"no address":     func(c *toolclient.Config) { c.Address = "" },
		"no port":        func(c *toolclient.Config) { c.Address = "127.0.0.1" },
		"no Pod UID":     func(c *toolclient.Config) { c.PodUID = "" },
		"no certificate": func(c *toolclient.Config) { c.ClientCert = tls.Certificate{} },
		"negative epoch": func(c *toolclient.Config) { c.Epoch = -1 },
	} {
		config := good
		change(&config)
		if _, err := toolclient.New(config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestWrongPod(t *testing.T) {
	p := newPod(t)
	c := p.client(func(c *toolclient.Config) { c.PodUID = "another" })
	ctx := testContext(t)
	if _, err := c.Hello(ctx); !errors.Is(err, toolclient.ErrWrongPod) {
		t.Errorf("hello: %v", err)
	}
	// Nothing may reach the wrong Pod, also if the caller does not say hello first.
	if _, err := c.Call(ctx, bash("a", "echo run >> runs")); !errors.Is(err, toolclient.ErrWrongPod) {
		t.Errorf("call: %v", err)
	}
	if _, err := c.PutFile(ctx, "runs", []byte("run\n")); !errors.Is(err, toolclient.ErrWrongPod) {
		t.Errorf("file: %v", err)
	}
	if _, err := c.SetEgress(ctx, toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: "secret", TimeoutMs: 1}); !errors.Is(err, toolclient.ErrWrongPod) {
		t.Errorf("way out: %v", err)
	}
	if c.ServerKey() != "" || p.count() != 0 {
		t.Errorf("the key %q was pinned, %d runs", c.ServerKey(), p.count())
	}
}

func TestServerKeyIsPinned(t *testing.T) {
	p := newPod(t)
	ctx := testContext(t)
	c := p.client(nil)
	if _, err := c.Hello(ctx); err != nil || !strings.HasPrefix(c.ServerKey(), "sha256:") {
		t.Fatalf("%q %v", c.ServerKey(), err)
	}
	pinned := c.ServerKey()
	if _, err := p.client(func(c *toolclient.Config) { c.PinnedServerKey = pinned }).Hello(ctx); err != nil {
		t.Errorf("with the right key: %v", err)
	}
	p.stop()
	p.start()
	if _, err := c.Hello(ctx); err != nil {
		t.Errorf("after a restart: %v", err)
	}

	p.stop()
	p.config.State = t.TempDir()
	p.start()
	for name, c := range map[string]*toolclient.Client{
		"pinned at first contact": c,
		"pinned by configuration": p.client(func(c *toolclient.Config) { c.PinnedServerKey = pinned }),
	} {
		if _, err := c.Call(ctx, bash("a", "echo run >> runs")); !errors.Is(err, toolclient.ErrServerKeyChanged) {
			t.Errorf("%s: %v", name, err)
		}
		if c.ServerKey() != pinned {
			t.Errorf("%s: the pin is now %q", name, c.ServerKey())
		}
	}
	if p.count() != 0 {
		t.Error("the call ran at a server with another key")
	}
}

func TestUnknownClientIsRefused(t *testing.T) {
	p := newPod(t)
	_, other := newKey(t)
	c := p.client(func(c *toolclient.Config) { c.ClientCert = other })
	// The kernel decides in a race whether the alert or the end of the connection is seen first.
	if _, err := c.Hello(testContext(t)); !errors.Is(err, toolclient.ErrRefused) && !errors.Is(err, toolclient.ErrUnreachable) {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	p := newPod(t)
	p.stop()
	c := p.client(nil)
	began := time.Now()
	_, err := c.Call(testContext(t), bash("a", "true"))
	if took := time.Since(began); !errors.Is(err, toolclient.ErrUnreachable) || took < 1900*time.Millisecond || took > 40*time.Second {
		t.Errorf("%v after %s", err, took)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := c.State(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// A Pod that has just started does not listen yet.
func TestServerThatComesLate(t *testing.T) {
	p := newPod(t)
	p.stop()
	c := p.client(func(c *toolclient.Config) { c.Unreachable = time.Minute })
	done := make(chan error, 1)
	go func() { _, err := c.Hello(testContext(t)); done <- err }()
	p.start()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The client waits for a call that takes longer than Unreachable as long as the server is there.
func TestLongCall(t *testing.T) {
	p := newPod(t)
	c := p.client(nil)
	r, err := c.Call(testContext(t), bash("a", "sleep 5; echo done"))
	if err != nil || r.Output != "done\n" {
		t.Errorf("%+v %v", r, err)
	}
}

// A request for egress that does not open takes as long as the egress may take to open, and does not make the server unreachable.
func TestWayOutThatStaysClosed(t *testing.T) {
	p := newPod(t)
	c := p.client(nil)
	req := toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: "secret", TimeoutMs: 4000} // Longer than Unreachable.
	if got, err := c.SetEgress(testContext(t), req); err != nil || got.Ready || got.Detail == "" || strings.Contains(got.Detail, req.Token) {
		t.Errorf("%+v %v", got, err)
	}
	h, err := c.Hello(testContext(t))
	if err != nil || !h.Egress {
		t.Errorf("%+v %v", h, err)
	}
	p.stop()
	p.start()
	if h, err := c.Hello(testContext(t)); err != nil || h.Egress {
		t.Errorf("after a restart: %+v %v", h, err)
	}
}
