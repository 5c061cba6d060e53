// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

// TestMain makes the test binary the first program of every process, and the servers that the tests talk to.
func TestMain(m *testing.M) {
	if proc.IsChild() {
		os.Exit(proc.RunChild())
	}
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], mcpserver.Program) {
		mcpserver.Serve(os.Args[2])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sandbox has MCP servers, and the runner of their programs.
type sandbox struct {
	t         *testing.T
	workspace string
	egress    *wayout.Egress
	programs  *program.Runner
	servers   *Servers
}

// newSandbox makes a sandbox without servers. A runner of programs ends every process below the test that does not belong to it: these
// tests must not be parallel.
func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	s := &sandbox{t: t}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	s.ok(err)
	s.workspace = dir + "/workspace"
	state, temp := dir+"/motor", dir+"/tmp"
	for _, d := range []string{s.workspace, state, temp} {
		s.ok(os.Mkdir(d, 0o755))
	}
	log := slog.New(slog.DiscardHandler)
	ws, err := workspace.Open(s.workspace)
	s.ok(err)
	led, err := ledger.Open(state+"/ledger", 4096, 64<<20)
	s.ok(err)
	marks, err := wayout.OpenTaint(state)
	s.ok(err)
	s.egress, err = wayout.New(log, temp, temp+"/none", marks)
	s.ok(err)
	s.programs, err = program.New(program.Config{
		Log: log, State: state, Temp: temp, SearchPath: "/usr/bin:/bin:" + os.Getenv("PATH"), Address: netip.MustParseAddr("127.0.0.1"), Ledger: led,
	}, ws, s.egress)
	s.ok(err)
	s.servers = New(log, s.programs, marks)
	t.Cleanup(func() {
		s.servers.Close()
		s.programs.Close()
		s.ok(errors.Join(led.Close(), s.egress.Close(), ws.Close()))
	})
	return s
}

func (s *sandbox) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// setEgress sets the way out, without a look whether it is open.
func (s *sandbox) setEgress(req toolapi.EgressRequest) {
	s.t.Helper()
	s.ok(s.egress.Set(req, func() error { return nil }))
}

// ask sets the servers, and lets programs start.
func (s *sandbox) ask(req toolapi.MCPRequest) toolapi.MCPResponse {
	s.t.Helper()
	s.ok(Check(req))
	resp, err := s.servers.Set(testContext(s.t), req, func() error {
		s.programs.Thaw()
		s.servers.Thaw()
		return nil
	})
	s.ok(err)
	return resp
}

// setMCP sets the servers, and returns what they offer.
func (s *sandbox) setMCP(servers ...toolapi.MCPServer) []toolapi.MCPServerState {
	s.t.Helper()
	return s.ask(toolapi.MCPRequest{Servers: servers, TimeoutMs: toolapi.MaxEgressTimeoutMs}).Servers
}

// friendly starts the server that follows the protocol.
func (s *sandbox) friendly() toolapi.MCPServer {
	s.t.Helper()
	server := toolapi.MCPServer{Name: "srv", Command: mcpserver.Command(s.t, "friendly"), Tools: mcpserver.Tools}
	if got := s.setMCP(server); got[0].Error != "" || got[0].Omitted != "" || len(got[0].Tools) != len(mcpserver.Tools) {
		s.t.Fatalf("%+v", got)
	}
	return server
}

func (s *sandbox) mcp(name, text string) toolapi.Result {
	s.t.Helper()
	return s.run("mcp__srv__"+name, mcpserver.EchoArgs{Text: text})
}

// run calls the tool of a server by its whole name.
func (s *sandbox) run(full string, args any) toolapi.Result {
	s.t.Helper()
	return s.call(testContext(s.t), full, "", args)
}

var lastCall atomic.Int32

// call is run with a context and an idempotency key.
func (s *sandbox) call(ctx context.Context, full, key string, args any) toolapi.Result {
	s.t.Helper()
	server, name, ok := toolapi.ParseMCPToolName(full)
	encoded, err := json.Marshal(args)
	if !ok || err != nil {
		s.t.Fatalf("%s: %v", full, err)
	}
	s.servers.Thaw()
	job := tool.Job{ID: fmt.Sprintf("call-%d", lastCall.Add(1)), Args: encoded, Key: key, Limit: toolapi.MaxOutputBytes}
	return s.servers.Call(ctx, job, server, name)
}

// awaitEnd returns when it is noticed that the server has ended.
func (s *sandbox) awaitEnd() {
	s.t.Helper()
	srv := s.servers.find("srv")
	await(s.t, "the end of the server", func() bool {
		s.ok(srv.lock(s.t.Context()))
		defer srv.unlock()
		return !srv.session.usable()
	})
}

// content is the content of a file in the workspace, "" if there is none.
func (s *sandbox) content(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.workspace, name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(content)
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
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

// marked returns the processes whose command line contains the mark.
func marked(t *testing.T, mark string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), mark) {
			found = append(found, e.Name()+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
