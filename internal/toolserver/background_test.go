// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
)

// programOf returns the one program that calls left in the background.
func (s *sandbox) programOf(id string) toolapi.Program {
	s.t.Helper()
	all, err := s.client(1).Background(testContext(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p toolapi.Program) bool { return p.Call == id })
	if i < 0 {
		s.t.Fatalf("there is no program of %s: %+v", id, all)
	}
	return all[i]
}

// keyedProgram leaves a program in the background under a key.
func (s *sandbox) keyedProgram(id, key, command string) toolapi.Result {
	s.t.Helper()
	return s.keyed(id, toolapi.ToolBash, key, toolapi.BashArgs{Command: command, Background: true})
}

// untilGo runs until the file go is there.
const untilGo = "until [ -e go ]; do sleep 0.05; done; "

// A key counts when the program that was started under it has ended well, and not before.
func TestIdempotencyKeyOfAProgramInTheBackground(t *testing.T) {
	for name, test := range map[string]struct {
		status int32
		state  toolapi.ProgramState
		code   string
		runs   int
	}{
		"ends well":  {0, toolapi.ProgramSucceeded, toolapi.CodeAlreadyDone, 1},
		"ends badly": {3, toolapi.ProgramFailed, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			effect := "echo run >> runs; " + untilGo + "exit " + string('0'+test.status)
			started(t, s.keyedProgram("a", "k", effect))
			await(t, "the effect", func() bool { return s.content("runs") != "" })
			if r := s.keyedProgram("b", "k", effect); r.OK || r.ErrorCode != toolapi.CodeStillRunning || !strings.Contains(r.Output, "call a ") {
				t.Errorf("while it runs: %+v", r)
			}
			if p := s.programOf("a"); p.State != toolapi.ProgramRunning || p.StartedAt.IsZero() || !p.EndedAt.IsZero() {
				t.Errorf("while it runs: %+v", p)
			}
			s.write("go", "")
			await(t, "the end", func() bool { return s.programOf("a").State != toolapi.ProgramRunning })
			if p := s.programOf("a"); p.State != test.state || p.ExitCode != test.status || p.EndedAt.Before(p.StartedAt) {
				t.Errorf("at the end: %+v", p)
			}
			s.restart()
			if p := s.programOf("a"); p.State != test.state || p.ExitCode != test.status {
				t.Errorf("after another start: %+v", p)
			}
			if r := s.keyed("c", toolapi.ToolBash, "k", toolapi.BashArgs{Command: "echo run >> runs"}); r.ErrorCode != test.code {
				t.Errorf("afterwards: %+v", r)
			}
			s.wantRuns(test.runs)
		})
	}
}

// The end of the server ends programs in the background, and no record shows how far they came.
func TestProgramLostWithTheServer(t *testing.T) {
	s := newSandbox(t)
	started(t, s.keyedProgram("a", "k", "trap 'exit 0' TERM; sleep 1000 & wait"))
	s.restart()
	if p := s.programOf("a"); p.State != toolapi.ProgramLost || !p.EndedAt.IsZero() {
		t.Errorf("%+v", p)
	}
	if r := s.keyed("b", toolapi.ToolBash, "k", toolapi.BashArgs{Command: "true"}); r.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("%+v", r)
	}
	if r := s.keyed("a-r1", toolapi.ToolBash, "k", toolapi.BashArgs{Command: "true"}); !r.OK {
		t.Errorf("made again on purpose: %+v", r)
	}
}

func TestProgramsAreEnded(t *testing.T) {
	s := newSandbox(t)
	started(t, s.keyedProgram("over", "", "true; sleep 0.5"))
	await(t, "its end", func() bool { return s.programOf("over").State == toolapi.ProgramSucceeded })
	started(t, s.keyedProgram("a", "k", "sleep 1000"))
	started(t, s.keyedProgram("b", "", "sleep 1000 & exit 0"))
	for range 2 {
		all, err := s.client(1).EndBackground(testContext(t), toolapi.StoppedSuspended)
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v %v", all, err)
		}
		for i, want := range []toolapi.Program{
			{Call: "over", State: toolapi.ProgramSucceeded},
			{Call: "a", State: toolapi.ProgramStopped, Reason: toolapi.StoppedSuspended},
			{Call: "b", State: toolapi.ProgramStopped, Reason: toolapi.StoppedSuspended},
		} {
			if p := all[i]; p.Call != want.Call || p.State != want.State || p.Reason != want.Reason || p.EndedAt.IsZero() {
				t.Errorf("%+v, want %+v", p, want)
			}
		}
	}
	if r := s.bash("true"); strings.Count(r.Output, "was killed from outside of the sandbox: Suspended") != 2 {
		t.Errorf("%q", r.Output)
	}
	started(t, s.keyedProgram("c", "k", "sleep 1000")) // A call whose program was ended may be repeated.
	s.restart()
	if p := s.programOf("a"); p.State != toolapi.ProgramStopped || p.Reason != toolapi.StoppedSuspended {
		t.Errorf("after another start: %+v", p)
	}
}

// A call that is about to leave a program behind when they are ended leaves none.
func TestNoProgramIsLeftWhileTheyAreHeld(t *testing.T) {
	s := newSandbox(t)
	s.server.processes.WatchBackground(3 * time.Second)
	result := make(chan toolapi.Result, 1)
	go func() { result <- s.keyedProgram("a", "k", "echo begun > begun; sleep 1000") }()
	await(t, "the start", func() bool { return s.content("begun") != "" })
	if all, err := s.client(1).EndBackground(testContext(t), toolapi.StoppedSuspended); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
	if r := <-result; r.ErrorCode != toolapi.CodeCancelled || !strings.Contains(r.Output, toolapi.StoppedSuspended) {
		t.Errorf("%+v", r)
	}
	s.server.processes.WatchBackground(300 * time.Millisecond)
	started(t, s.keyedProgram("b", "k", "sleep 1000"))
}

// A program that was ended by a halt reports the hole in the barriers.
func TestHaltedProgramSaysWhy(t *testing.T) {
	s := newSandbox(t)
	started(t, s.keyedProgram("a", "", "sleep 1000"))
	if _, err := s.client(1).Halt(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if p := s.programOf("a"); p.State != toolapi.ProgramStopped || p.Reason != toolapi.StoppedIsolationLost {
		t.Errorf("%+v", p)
	}
}

// recordHook is the file of a ledger that asks before it writes a record.
type recordHook struct {
	ledger.File
	before func(record string) error
}

func (f *recordHook) WriteAt(p []byte, at int64) (int, error) {
	if err := f.before(string(p)); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

// hookRecords has the ledger of a sandbox in which no call runs ask before it writes a record.
func (s *sandbox) hookRecords(before func(record string) error) {
	s.server.ledger.Wrap(func(f ledger.File) ledger.File { return &recordHook{f, before} })
}

// A program of which nothing would be known after a restart does not run on.
func TestProgramThatCannotBeRecordedIsEnded(t *testing.T) {
	s := newSandbox(t)
	s.hookRecords(func(record string) error {
		if strings.Contains(record, `"kind":"left"`) {
			return syscall.ENOSPC
		}
		return nil
	})
	word := fmt.Sprintf("unrecorded-%d", os.Getpid())
	if r := s.keyedProgram("a", "k", "exec -a "+word+" sleep 1000"); r.ErrorCode != toolapi.CodeInternal || !strings.Contains(r.Output, "could not record") {
		t.Errorf("%+v", r)
	}
	if left := marked(t, word); len(left) > 0 {
		t.Errorf("%v still run", left)
	}
}
