// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver/durable"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// A server that was killed leaves parts of files. The next one removes its own, and touches nothing else.
func TestRestartClearsUp(t *testing.T) {
	s := newSandbox(t)
	s.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "kept", Content: "kept"})
	s.bash("seq 100000")
	key := s.server.ServerKey()
	s.stop()
	for _, file := range []string{workspace.CodeDir + "/a.py", workspace.TempDir + "/XYZ", workspace.TempDir + "/folder/file", "own.tmp"} {
		s.write(file, "x")
	}
	if err := os.Symlink("../../kept", s.workspace+"/"+workspace.TempDir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.state+"/"+durable.TempPrefix+"1", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.temp+"/scratch", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	for file, want := range map[string]bool{
		s.workspace + "/" + workspace.CodeDir + "/a.py": false, s.workspace + "/" + workspace.TempDir + "/XYZ": false, s.state + "/" + durable.TempPrefix + "1": false,
		s.workspace + "/kept": true, s.workspace + "/own.tmp": true, s.temp + "/scratch": true,
		s.workspace + "/" + workspace.TempDir + "/folder/file": true, s.workspace + "/" + workspace.TempDir + "/link": true,
	} {
		if _, err := os.Lstat(file); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", file, err, want)
		}
	}
	if outputs, err := filepath.Glob(s.workspace + "/" + toolapi.OutputDir + "/*"); err != nil || len(outputs) != 1 {
		t.Errorf("kept outputs: %v %v", outputs, err)
	}
	if s.server.ServerKey() != key {
		t.Error("the server has another key")
	}
}

// Entries that a program made must not lead the cleanup out of the workspace, or stop it.
func TestRestartWithHostileLeftovers(t *testing.T) {
	for name, command := range map[string]string{
		"links":     "rm -rf .motor; mkdir .motor; ln -s ../../tmp .motor/tmp; ln -s /etc .motor/code",
		"no folder": "rm -rf .motor; touch .motor",
		"closed":    "mkdir -p .motor/tmp .motor/code; touch .motor/tmp/x; chmod 0 .motor/tmp .motor",
		"a pipe":    "rm -rf .motor; mkdir .motor; mkfifo .motor/tmp .motor/code",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			if err := os.WriteFile(s.temp+"/scratch", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := s.bash(command); !r.OK {
				t.Fatalf("%+v", r)
			}
			s.restart()
			if _, err := os.Stat(s.temp + "/scratch"); err != nil {
				t.Error(err)
			}
			if r := s.bash("chmod 700 .motor; rm -rf .motor; echo well"); r.Output != "well\n" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Hello distinguishes a server that has just started from one in which hostile programs may have run.
func TestHelloSaysWhetherACallRan(t *testing.T) {
	s := newSandbox(t)
	want := func(when string, used bool) {
		t.Helper()
		if h, err := s.client(1).Hello(testContext(t)); err != nil || h.Used != used {
			t.Errorf("%s: %+v %v, want used %t", when, h, err, used)
		}
	}
	want("at first", false)
	call := newCallOf(t, "a", toolapi.ToolBash, toolapi.BashArgs{Command: "true"})
	s.runCall(call)
	want("after a call", true)
	s.restart()
	s.runCall(call)
	want("after a restart and a result from the ledger", false)
	s.bash("true")
	want("after another call", true)
}

// brokenFile is a file whose disk fails.
type brokenFile struct{ ledger.File }

func (brokenFile) Sync() error { return syscall.EIO }

func (brokenFile) SyncData() error { return syscall.EIO }

// A server that cannot write its ledger any more ends, so that another start reads what is there. No client hears that a call failed: it
// may have been started.
func TestServerEndsWithItsLedger(t *testing.T) {
	s := stoppedSandbox(t)
	server, err := New(s.config())
	if err != nil {
		t.Fatal(err)
	}
	server.ledger.Wrap(func(f ledger.File) ledger.File { return brokenFile{f} })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = ln.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(context.Background(), ln) }()
	call := newCallOf(t, "a", toolapi.ToolBash, toolapi.BashArgs{Command: "echo run >> runs"})
	ctx, giveUp := context.WithCancel(testContext(t))
	answer := make(chan error, 1)
	go func() { _, err := s.client(0).Call(ctx, call); answer <- err }()
	if err := <-ended; !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("Serve ended with %v", err)
	}
	giveUp()
	if remote, ok := errors.AsType[*toolclient.RemoteError](<-answer); ok {
		t.Errorf("the client was told %v", remote)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	s.start()
	if state, err := s.client(0).State(testContext(t), "a"); err != nil || state.Phase != toolapi.CallUnknown {
		t.Errorf("%+v %v", state, err)
	}
	s.wantRuns(0)
}
