// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// waiting is a command that counts its runs, and ends when the file "go" is there.
const waiting = "echo run >> runs; mkfifo go; touch begun; read x < go; echo done"

func waitingCall(t *testing.T, id string) toolapi.Call {
	return newCallOf(t, id, toolapi.ToolBash, toolapi.BashArgs{Command: waiting})
}

func (s *sandbox) awaitBegun() {
	s.t.Helper()
	await(s.t, "the start of the command", func() bool {
		_, err := os.Stat(s.workspace + "/begun")
		return err == nil
	})
}

func (s *sandbox) release() {
	s.t.Helper()
	var file *os.File
	await(s.t, "the command's pipe", func() (open bool) {
		var err error
		file, err = os.OpenFile(s.workspace+"/go", os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	if _, err := file.WriteString("go\n"); err != nil {
		s.t.Error(err)
	}
	_ = file.Close()
}

func (s *sandbox) wantRuns(want int) {
	s.t.Helper()
	if got := strings.Count(s.content("runs"), "run\n"); got != want {
		s.t.Errorf("the command ran %d times, want %d", got, want)
	}
}

func TestSameIDRunsOnce(t *testing.T) {
	s := newSandbox(t)
	call := newCallOf(t, "once", toolapi.ToolBash, toolapi.BashArgs{Command: "echo run >> runs; echo $RANDOM$RANDOM; exit 3"})
	first := s.runCall(call)
	if diff := cmp.Diff(first, s.runCall(call)); diff != "" {
		t.Errorf("second answer:\n%s", diff)
	}
	s.restart()
	if diff := cmp.Diff(first, s.runCall(call)); diff != "" {
		t.Errorf("answer after a restart:\n%s", diff)
	}
	s.wantRuns(1)
}

func TestConcurrentCallersShareOneExecution(t *testing.T) {
	s := newSandbox(t)
	call := waitingCall(t, "shared")
	results := make([]toolapi.Result, 8)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			var err error
			if results[i], err = s.client(int64(1)).Call(testContext(t), call); err != nil {
				t.Error(err)
			}
		})
	}
	s.awaitBegun()
	s.release()
	all.Wait()
	for _, r := range results {
		if diff := cmp.Diff(results[0], r); diff != "" || r.Output != "done\n" {
			t.Errorf("%+v:\n%s", r, diff)
		}
	}
	s.wantRuns(1)
}

func TestClientThatGoesAwayDoesNotEndTheCall(t *testing.T) {
	s := newSandbox(t)
	call := waitingCall(t, "left")
	ctx, cancel := context.WithCancel(testContext(t))
	gone := make(chan error, 1)
	go func() { _, err := s.client(1).Call(ctx, call); gone <- err }()
	s.awaitBegun()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	state, err := s.client(1).State(testContext(t), call.ID)
	if err != nil || state.Phase != toolapi.CallRunning || state.Result != nil {
		t.Fatalf("%+v %v", state, err)
	}
	s.release()
	if r := s.runCall(call); !r.OK || r.Output != "done\n" {
		t.Errorf("%+v", r)
	}
	s.wantRuns(1)
}

// A server that dies in the middle of a call leaves a ledger with a start and no end.
func TestInterruptedCallIsNotRunAgain(t *testing.T) {
	s := newSandbox(t)
	call := waitingCall(t, "torn")
	go func() { _, _ = s.client(1).Call(testContext(t), call) }()
	s.awaitBegun()
	crashed, err := os.ReadFile(s.state + "/ledger")
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := os.WriteFile(s.state+"/ledger", crashed, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	state, err := s.client(1).State(testContext(t), call.ID)
	if err != nil || state.Phase != toolapi.CallUnknown || state.Result.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("%+v %v", state, err)
	}
	if r := s.runCall(call); r.OK || r.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("%+v", r)
	}
	s.wantRuns(1)
}

// The end of the server is the end of its calls. How far they came was seen by none: an end that is recorded as one would let the
// effect be brought about again without a decision.
func TestStopEndsCalls(t *testing.T) {
	s := newSandbox(t)
	call := waitingCall(t, "stopped")
	answer := make(chan toolapi.Result, 1)
	go func() {
		r, _ := s.client(1).Call(testContext(t), call)
		answer <- r
	}()
	s.awaitBegun()
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > 20*time.Second { // The command would never end.
		t.Errorf("stopping took %s", took)
	}
	if r := <-answer; r.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("the waiting client got %+v", r)
	}
	s.start()
	if state, err := s.client(1).State(testContext(t), call.ID); err != nil || state.Phase != toolapi.CallUnknown {
		t.Errorf("after the restart: %+v %v", state, err)
	}
	if r := s.runCall(call); r.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("%+v", r)
	}
	s.wantRuns(1)
}

func TestCallMismatch(t *testing.T) {
	s := newSandbox(t)
	s.runCall(newCallOf(t, "id", toolapi.ToolBash, toolapi.BashArgs{Command: "true"}))
	for name, call := range map[string]toolapi.Call{
		"other arguments": newCallOf(t, "id", toolapi.ToolBash, toolapi.BashArgs{Command: "false"}),
		"other tool":      newCallOf(t, "id", toolapi.ToolWrite, toolapi.BashArgs{Command: "true"}),
	} {
		_, err := s.client(1).Call(testContext(t), call)
		wantRemote(t, name, err, 409, toolapi.ErrCallMismatch)
	}
}

func wantRemote(t *testing.T, what string, err error, status int, code string) {
	t.Helper()
	var remote *toolclient.RemoteError
	if !errors.As(err, &remote) || remote.Status != status || remote.Code != code || remote.Message == "" {
		t.Errorf("%s: %v, want %d %s", what, err, status, code)
	}
}

func TestLedgerFullOverTheWire(t *testing.T) {
	s := stoppedSandbox(t)
	s.maxCalls = 1
	s.start()
	s.bash("true")
	_, err := s.client(1).Call(testContext(t), newCallOf(t, "", toolapi.ToolBash, toolapi.BashArgs{Command: "true"}))
	wantRemote(t, "second call", err, 507, toolapi.ErrLedgerFull)
}

func TestStaleEpochIsRefusedEverywhere(t *testing.T) {
	s := newSandbox(t)
	old, new := s.client(4), s.client(5)
	ctx := testContext(t)
	if h, err := old.Hello(ctx); err != nil || h.Epoch != 4 {
		t.Fatalf("%+v %v", h, err)
	}
	if h, err := new.Hello(ctx); err != nil || h.Epoch != 5 {
		t.Fatalf("%+v %v", h, err)
	}
	check := func(when string) {
		t.Helper()
		for name, request := range map[string]func() error{
			"hello":  func() error { _, err := old.Hello(ctx); return err },
			"call":   func() error { _, err := old.Call(ctx, waitingCall(t, "stale")); return err },
			"state":  func() error { _, err := old.State(ctx, "stale"); return err },
			"cancel": func() error { _, err := old.Cancel(ctx, "stale"); return err },
			"file":   func() error { _, err := old.PutFile(ctx, "stale", nil); return err },
			"probe":  func() error { _, err := old.Probe(ctx, toolapi.ProbeRequest{}); return err },
		} {
			if err := request(); !errors.Is(err, toolclient.ErrStaleEpoch) {
				t.Errorf("%s %s: %v", name, when, err)
			}
		}
	}
	check("before the restart")
	s.stop()
	s.start()
	address := s.address
	old = s.client(4)
	check("after the restart on " + address)
	if state, err := s.client(5).State(ctx, "stale"); err != nil || state.Phase != toolapi.CallAbsent {
		t.Errorf("%+v %v", state, err)
	}
	if s.content("stale") != "" || s.content("runs") != "" {
		t.Error("a stale request had an effect")
	}
}

// A new claim takes over the call that the old one started, and the old one learns at once that it has lost.
func TestNewerEpochAttachesToARunningCall(t *testing.T) {
	s := newSandbox(t)
	call := waitingCall(t, "taken")
	lost := make(chan error, 1)
	go func() { _, err := s.client(1).Call(testContext(t), call); lost <- err }()
	s.awaitBegun()
	taken := make(chan toolapi.Result, 1)
	go func() {
		r, err := s.client(2).Call(testContext(t), call)
		if err != nil {
			t.Error(err)
		}
		taken <- r
	}()
	if err := <-lost; !errors.Is(err, toolclient.ErrStaleEpoch) {
		t.Errorf("the old claim got %v", err)
	}
	s.release()
	if r := <-taken; !r.OK || r.Output != "done\n" {
		t.Errorf("the new claim got %+v", r)
	}
	s.wantRuns(1)
}

func TestCancel(t *testing.T) {
	s := newSandbox(t)
	c, ctx := s.client(1), testContext(t)
	if state, err := c.Cancel(ctx, "never"); err != nil || state.Phase != toolapi.CallAbsent {
		t.Errorf("of an unknown call: %+v %v", state, err)
	}
	done := newCallOf(t, "done", toolapi.ToolBash, toolapi.BashArgs{Command: "echo x"})
	s.runCall(done)
	if state, err := c.Cancel(ctx, "done"); err != nil || state.Phase != toolapi.CallFinished || !state.Result.OK {
		t.Errorf("of a finished call: %+v %v", state, err)
	}

	// One call runs, the next waits for it; both are cancelled, the waiting one first.
	go func() { _, _ = s.client(1).Call(ctx, waitingCall(t, "first")) }()
	s.awaitBegun()
	go func() {
		_, _ = s.client(1).Call(ctx, newCallOf(t, "second", toolapi.ToolBash, toolapi.BashArgs{Command: "echo run >> runs"}))
	}()
	await(t, "the second call", func() bool {
		state, err := c.State(ctx, "second")
		return err == nil && state.Phase == toolapi.CallRunning
	})
	for _, id := range []string{"second", "first"} {
		state, err := c.Cancel(ctx, id)
		if err != nil || state.Phase != toolapi.CallFinished || state.Result.ErrorCode != toolapi.CodeCancelled {
			t.Errorf("of %s: %+v %v", id, state, err)
		}
	}
	s.wantRuns(1)
}

func TestReadRunsBesideACommand(t *testing.T) {
	s := newSandbox(t)
	go func() { _, _ = s.client(1).Call(testContext(t), waitingCall(t, "slow")) }()
	s.awaitBegun()
	if r := s.run(toolapi.ToolRead, toolapi.ReadArgs{Path: "runs"}); r.Output != "     1\trun\n" {
		t.Errorf("%+v", r)
	}
	s.release()
}

func TestToolThatDoesNotExist(t *testing.T) {
	s := newSandbox(t)
	for _, name := range []string{toolapi.ToolAskUser, "shell", "", strings.Repeat("x", 5000)} {
		r := s.run(name, struct{}{})
		if r.OK || r.ErrorCode != toolapi.CodeUnknownTool || !strings.HasSuffix(r.Output, "it has bash, code, edit, fetch, glob, grep, list, patch, read, save_artifact, write") {
			t.Errorf("%q: %+v", name, r)
		}
	}
}

func TestPanicOfAToolIsAResult(t *testing.T) {
	s := newSandbox(t)
	s.server.tools["broken"] = tool.Tool{Alone: true, Limit: 100, Run: func(context.Context, tool.Job) toolapi.Result { panic("broken") }}
	if r := s.run("broken", struct{}{}); r.ErrorCode != toolapi.CodeInternal {
		t.Errorf("%+v", r)
	}
	if r := s.bash("echo alive"); r.Output != "alive\n" {
		t.Errorf("afterwards: %+v", r)
	}
}
