// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
)

func TestBackground(t *testing.T) {
	s := newSandbox(t)
	mark := fmt.Sprintf("background-%d", os.Getpid())
	first := s.background("echo begun; exec -a " + mark + " sleep 1000")
	pid, file := started(t, first)
	await(t, "output", func() bool { return s.content(file) == "begun\n" })
	// It is reported again when there is something new to report.
	for name, command := range map[string]string{"success": "echo hello", "silence": "true", "failure": "exit 3", "kill": "kill -9 $$"} {
		if r := s.bash(command); strings.Contains(r.Output, "[background") {
			t.Errorf("%s: %q", name, r.Output)
		}
	}
	if r := s.run(toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: "1"}); r.Output != "[value]\n1\n" {
		t.Errorf("code: %q", r.Output)
	}
	second := s.background("sleep 1000 & exit 4")
	other, _ := started(t, second)
	if strings.Count(second.Output, "\n") != 1 {
		t.Errorf("%q", second.Output)
	}
	killed := s.bash("kill " + pid)
	if !killed.OK {
		t.Errorf("%+v", killed)
	}
	await(t, "the end of its processes", func() bool { return len(marked(t, mark)) == 0 })
	told := killed.Output
	await(t, "the end", func() bool {
		told += s.bash("true").Output
		return strings.Contains(told, "process "+pid+" was killed by signal 15")
	})
	if strings.Contains(told, other) && !strings.Contains(told, "process "+other+" ended with exit status 4, and what it started runs; to end it: kill "+other) {
		t.Errorf("of the other: %q", told)
	}
	if r := s.bash("true"); r.Output != "" {
		t.Errorf("after it was told: %q", r.Output)
	}
	if got := s.content(file); !strings.Contains(got, "begun") {
		t.Errorf("the output: %q", got)
	}
}

// A command that is over at once is a result like any other.
func TestBackgroundThatEndsAtOnce(t *testing.T) {
	s := newSandbox(t)
	s.programs.background.look = 15 * time.Second // The machine may be slow.
	const over = "[the command has ended already, nothing of it runs in the background]\n"
	for name, test := range map[string]struct{ command, code, output string }{
		"success": {"echo done", "", "done\n" + over},
		"failure": {"echo no >&2; exit 7", "exit_7", "no\n" + over},
		"missing": {"no-such-program 2>/dev/null", "exit_127", over},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.background(test.command)
			if r.ErrorCode != test.code || r.Output != test.output || r.OutputFile != "" {
				t.Errorf("%+v", r)
			}
		})
	}
	r := s.background("seq 100000")
	if !r.OK || r.OutputFile == "" || !strings.HasPrefix(s.content(r.OutputFile), "1\n2\n") || len(r.Output) > toolapi.MaxBashOutputBytes {
		t.Errorf("%+v", r)
	}
	if r := s.bash("ls .motor/output | wc -l"); r.Output != "1\n" {
		t.Errorf("files: %q", r.Output)
	}
}

func TestBackgroundIsBounded(t *testing.T) {
	s := newSandbox(t)
	var last string
	for range maxBackground {
		last, _ = started(t, s.background("sleep 1000"))
	}
	r := s.background("sleep 1000")
	if r.ErrorCode != toolapi.CodeInvalidArguments || strings.Count(r.Output, "[background: process") != maxBackground || !strings.Contains(r.Output, "kill "+last) {
		t.Errorf("one too many: %+v", r)
	}
	call := newCallOf(t, "", toolapi.ToolBash, toolapi.BashArgs{Command: "echo short"})
	call.MaxOutputBytes = 400
	if r := s.runCall(call); r.Output != "short\n" {
		t.Errorf("nothing new: %q", r.Output)
	}
	s.bash("kill " + last)
	await(t, "room", func() bool { return s.programs.background.running() < maxBackground })
	_, file := started(t, s.background("yes 0123456789012345678901234567890123456789"))
	await(t, "the bound of the output", func() bool {
		info, err := os.Stat(s.workspace + "/" + file)
		return err == nil && info.Size() == output.MaxSpillBytes
	})
	s.stop()
	if content := s.content(file); len(content) > output.MaxSpillBytes+200 || !strings.HasSuffix(content, "the rest was not kept …\n") {
		t.Errorf("%d bytes, and at the end %q", len(content), content[len(content)-100:])
	}
}

func TestBackgroundEnds(t *testing.T) {
	mark := func(name string) string { return fmt.Sprintf("ends-%d-%s", os.Getpid(), name) }
	t.Run("in time", func(t *testing.T) {
		s := newSandbox(t)
		r := s.run(toolapi.ToolBash, toolapi.BashArgs{Command: escapees(mark("time")) + "wait", Background: true, TimeoutSeconds: 2})
		pid, _ := started(t, r)
		var told string
		await(t, "the end", func() bool {
			told += s.bash("true").Output
			return strings.Contains(told, "process "+pid+" was killed: its time was over")
		})
		if left := marked(t, mark("time")); len(left) > 0 {
			t.Errorf("processes are left: %q", left)
		}
	})
	t.Run("with the server", func(t *testing.T) {
		s := newSandbox(t)
		started(t, s.background(escapees(mark("server"))+"wait"))
		s.restart()
		if left := marked(t, mark("server")); len(left) > 0 {
			t.Errorf("processes are left: %q", left)
		}
		if r := s.bash("true"); r.Output != "" {
			t.Errorf("after another start: %q", r.Output)
		}
	})
	t.Run("with a cancelled call", func(t *testing.T) {
		s := newSandbox(t)
		call := newCallOf(t, "", toolapi.ToolBash, toolapi.BashArgs{Command: "touch begun; exec -a " + mark("cancel") + " sleep 1000", Background: true})
		answer := make(chan toolapi.Result, 1)
		go func() { answer <- s.runCall(call) }()
		await(t, "the start", func() bool { _, err := os.Stat(s.workspace + "/begun"); return err == nil })
		s.cancel(call.ID)
		r := <-answer
		if r.OK { // It was cancelled too late, and runs.
			return
		}
		if left := marked(t, mark("cancel")); r.ErrorCode != toolapi.CodeCancelled || len(left) > 0 {
			t.Errorf("%+v %q", r, left)
		}
	})
}

// A process that keeps the pipe open longer than the supervisor lives does not keep the job.
func TestBackgroundKilledForGood(t *testing.T) {
	s := newSandbox(t)
	mark := fmt.Sprintf("for-good-%d", os.Getpid())
	pid, _ := started(t, s.background("(exec -a "+mark+" sleep 1000) & wait"))
	killed := s.bash("kill -9 " + pid)
	if !killed.OK {
		t.Errorf("%+v", killed)
	}
	await(t, "the end of what it left", func() bool { return len(marked(t, mark)) == 0 })
	told := killed.Output
	await(t, "the end", func() bool {
		told += s.bash("true").Output
		return strings.Contains(told, "process "+pid+" was killed;")
	})
}

func TestBackgroundWithoutRoom(t *testing.T) {
	s := newSandbox(t)
	if r := s.bash("rm -rf .motor; touch .motor"); !r.OK {
		t.Fatalf("%+v", r)
	}
	if r := s.background("sleep 1000"); r.OK || !strings.Contains(r.Output, ".motor/output") {
		t.Errorf("%+v", r)
	}
	s.path = s.temp
	s.restart()
	if r := s.background("sleep 1000"); r.ErrorCode == "" {
		t.Errorf("%+v", r)
	}
}

// A foreground bomb does not kill programs in the background, if the numbers of processes can be read.
func TestBackgroundOutlivesOthersKill(t *testing.T) {
	s := newSandbox(t)
	pid, _ := started(t, s.background("sleep 1000"))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for i := 0; i < 20 && ctx.Err() == nil; i++ {
		s.bash("for i in 1 2 3 4 5; do (sleep 100 &) ; setsid sleep 100 & done")
	}
	if _, err := os.Stat("/proc/" + pid); err != nil {
		t.Error(err)
	}
	if r := s.bash("true"); r.Output != "" {
		t.Errorf("something came of it: %q", r.Output)
	}
}
