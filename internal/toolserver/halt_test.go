// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

const tableHeader = "  sl  local_address rem_address   st\n"

// netTables makes tables of a network namespace with the given lines of TCP.
func netTables(t *testing.T, tcp string) string {
	t.Helper()
	dir := t.TempDir()
	for name, lines := range map[string]string{"tcp": tcp, "udp": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(tableHeader+lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sandboxWithTables is one in whose network namespace only the connections of the tables exist.
func sandboxWithTables(t *testing.T, tcp string) *sandbox {
	s := stoppedSandbox(t)
	s.netTables = netTables(t, tcp)
	s.start()
	return s
}

func TestHaltEndsTheCall(t *testing.T) {
	s := sandboxWithTables(t, "")
	call := waitingCall(t, "cut")
	answer := make(chan toolapi.Result, 1)
	go func() {
		r, _ := s.client(1).Call(testContext(t), call)
		answer <- r
	}()
	s.awaitBegun()
	resp, err := s.client(1).Halt(testContext(t))
	if err != nil || resp.All != 0 {
		t.Fatalf("%+v %v", resp, err)
	}
	if r := <-answer; r.ErrorCode != toolapi.CodeCancelled || !strings.Contains(r.Output, "hole") {
		t.Errorf("%+v", r)
	}
	if r := s.bash("echo well"); r.Output != "well\n" {
		t.Errorf("the next call: %+v", r)
	}
}

// A program that outlives the call that started it does not outlive the barriers.
func TestHaltEndsTheBackground(t *testing.T) {
	s := sandboxWithTables(t, "")
	word := fmt.Sprintf("halted-%d", os.Getpid())
	r := s.run(toolapi.ToolBash, toolapi.BashArgs{Background: true, Command: "exec -a " + word + " sleep 1000"})
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	await(t, "the command in the background", func() bool { return len(marked(t, word)) > 0 })
	for range 2 { // It can be repeated.
		if resp, err := s.client(1).Halt(testContext(t)); err != nil || resp.All != 0 {
			t.Fatalf("%+v %v", resp, err)
		}
		if left := marked(t, word); len(left) > 0 {
			t.Fatalf("%v still run", left)
		}
	}
	if r := s.bash("true"); !strings.Contains(r.Output, "was killed") {
		t.Errorf("the model is not told: %+v", r)
	}
}

// A server's program outlives the calls that are made of it, and what one of them started outlives that one. None of both outlives the
// walls, in the middle of a call or between two.
func TestHaltEndsTheProgramsOfMCPServers(t *testing.T) {
	s := sandboxWithTables(t, "")
	server := s.friendly()
	word := fmt.Sprintf("halted-of-a-server-%d", os.Getpid())
	if r := s.mcp("run", "(exec -a "+word+" sleep 1000) >/dev/null 2>&1 &"); !r.OK {
		t.Fatalf("%+v", r)
	}
	await(t, "what the server started", func() bool { return len(marked(t, word)) > 0 })
	if before := marked(t, mcpserver.Mark); len(before) == 0 {
		t.Fatal("the server's program is not found")
	}
	answer := make(chan toolapi.Result, 1)
	halt := func(when string) {
		t.Helper()
		if resp, err := s.client(1).Halt(testContext(t)); err != nil || resp.All != 0 {
			t.Fatalf("%s: %+v %v", when, resp, err)
		}
		if left := append(marked(t, word), marked(t, mcpserver.Mark)...); len(left) > 0 {
			t.Fatalf("%s: %v still run", when, left)
		}
	}
	halt("between two calls")
	// Nothing begins before the walls are closed, and then the server is there again.
	if r := s.mcp("echo", "again"); r.Output != "again\n" {
		t.Fatalf("after the halt: %+v, %+v", r, s.setMCP(server))
	}
	client, call := s.client(1), newCallOf(t, "", "mcp__srv__run", mcpserver.EchoArgs{Text: "touch begun; exec -a " + word + " sleep 1000"})
	go func() {
		r, _ := client.Call(testContext(t), call)
		answer <- r
	}()
	s.awaitBegun()
	halt("in the middle of a call")
	if r := <-answer; r.OK || r.ErrorCode != toolapi.CodeCancelled {
		t.Errorf("%+v", r)
	}
}

func TestHaltNamesTheConnectionsThatAreLeft(t *testing.T) {
	s := sandboxWithTables(t, strings.Repeat("   0: 0200000A:C001 0300000A:2328 04\n", 20))
	resp, err := s.client(1).Halt(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	want := toolapi.Connection{Network: "tcp", Local: "10.0.0.2:49153", Remote: "10.0.0.3:9000", State: "fin-wait-1"}
	if resp.All != 20 || len(resp.Connections) != toolapi.MaxConnections || resp.Connections[0] != want {
		t.Errorf("%+v", resp)
	}
}

// The server's own connections, and those to the proxy, are no sign of a hole.
func TestHaltKnowsItsOwnConnections(t *testing.T) {
	s := sandboxWithTables(t, "")
	s.setEgress(toolapi.EgressRequest{Proxy: "10.0.0.5:3128", Token: "token", TimeoutMs: 1})
	lines := fmt.Sprintf("   0: 0100007F:%04X 0100007F:C000 01\n   1: 0200000A:C001 0500000A:0C38 01\n", s.server.listens().Port())
	if err := os.WriteFile(filepath.Join(s.netTables, "tcp"), []byte(tableHeader+lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if resp, err := s.client(1).Halt(testContext(t)); err != nil || resp.All != 0 {
		t.Errorf("%+v %v", resp, err)
	}
}

func TestHaltFailsClosed(t *testing.T) {
	s := sandboxWithTables(t, "what is that\n")
	_, err := s.client(1).Halt(testContext(t))
	wantRemote(t, "tables that nobody understands", err, 500, toolapi.ErrInternal)
}

func TestHaltOfAnOldWorkerIsRefused(t *testing.T) {
	s := sandboxWithTables(t, "")
	if _, err := s.client(2).Hello(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client(1).Halt(testContext(t)); err == nil {
		t.Error("a worker that lost the run can still end what its successor has started")
	}
}

// A call that waits for the lane gets it when the call before it is cancelled, perhaps before it is cancelled itself. Nothing may start by then.
func TestHaltFreezesBeforeItCancels(t *testing.T) {
	s := sandboxWithTables(t, "")
	if _, err := s.client(1).Hello(testContext(t)); err != nil {
		t.Fatal(err)
	}
	frozen := make(chan bool, 1)
	c, _, err := s.server.ledger.Begin(1, ledger.Work{ID: "a", Digest: "d"}, func(error) { frozen <- s.server.processes.IsFrozen() })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client(1).Halt(testContext(t)); err != nil {
		t.Fatal(err)
	}
	select {
	case is := <-frozen:
		if !is {
			t.Error("a program can be started while the calls are cancelled")
		}
	default:
		t.Error("the call was not cancelled")
	}
	s.server.ledger.Leave(c)
}
