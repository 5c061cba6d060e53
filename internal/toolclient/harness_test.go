// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
)

const podUID = "pod-uid"

func TestMain(m *testing.M) {
	if proc.IsChild() {
		os.Exit(proc.RunChild())
	}
	os.Exit(m.Run())
}

func newKey(t *testing.T) (*ecdsa.PrivateKey, tls.Certificate) {
	t.Helper()
	key, err := toolclient.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := toolclient.ClientCertificate(key)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

// pod is a real tool server, and a connection to it that can be broken.
type pod struct {
	t       *testing.T
	config  toolserver.Config
	cert    tls.Certificate
	address string // of the server; it stays the same over restarts
	stop    func()
}

func newPod(t *testing.T) *pod {
	t.Helper()
	key, cert := newKey(t)
	keys, err := toolserver.ParseManagerKeys(toolclient.PublicKeyPin(key))
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{t: t, cert: cert, address: "127.0.0.1:0"}
	p.config = toolserver.Config{
		Address:   netip.MustParseAddr("127.0.0.1"),
		Workspace: t.TempDir(), State: t.TempDir(), TempDir: t.TempDir(), SearchPath: os.Getenv("PATH"), PodUID: podUID, ManagerKeys: keys,
	}
	p.start()
	return p
}

func (p *pod) start() {
	p.t.Helper()
	server, err := toolserver.New(p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.address = ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, ln) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, server.Close()); err != nil {
			p.t.Error(err)
		}
	})
	p.t.Cleanup(p.stop)
}

func (p *pod) client(change func(*toolclient.Config)) *toolclient.Client {
	p.t.Helper()
	config := toolclient.Config{Address: p.address, PodUID: podUID, ClientCert: p.cert, Epoch: 1, Unreachable: 2 * time.Second}
	if change != nil {
		change(&config)
	}
	c, err := toolclient.New(config)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.Close)
	return c
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func bash(id, command string) toolapi.Call {
	args, err := json.Marshal(toolapi.BashArgs{Command: command})
	if err != nil {
		panic(err)
	}
	return toolapi.Call{ID: id, Tool: toolapi.ToolBash, Arguments: args}
}

func (p *pod) count() int {
	p.t.Helper()
	content, err := os.ReadFile(p.config.Workspace + "/runs")
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return strings.Count(string(content), "run\n")
}

// release unblocks a command that reads from the named pipe.
func (p *pod) release(pipe string) {
	p.t.Helper()
	var file *os.File
	await(p.t, "the command's pipe", func() bool {
		var err error
		file, err = os.OpenFile(p.config.Workspace+"/"+pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	if err := file.Close(); err != nil {
		p.t.Error(err)
	}
}
