// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// supervise starts a command line under a supervisor.
func (s *sandbox) supervise(command string) *Supervised {
	s.t.Helper()
	p := s.programs
	v, err := p.StartSupervised([]string{"bash", "-c", command}, p.env, nil, nil, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// wantEnd fails the test unless the supervised program ends.
func wantEnd(t *testing.T, v *Supervised) {
	t.Helper()
	select {
	case <-v.done():
	case <-time.After(2 * time.Minute):
		t.Fatal("it did not end")
	}
}

// Processes under a supervisor outlive calls, however they tried to escape, and end together with everything they started.
func TestSupervised(t *testing.T) {
	tests := map[string]func(*sandbox, *Supervised){
		"stopped": func(_ *sandbox, v *Supervised) { v.Stop(); v.Stop() },
		"killed by a call": func(s *sandbox, v *Supervised) {
			if r := s.bash(fmt.Sprintf("kill %d", v.pid())); !r.OK {
				s.t.Errorf("%+v", r)
			}
		},
		"killed by a call for good": func(s *sandbox, v *Supervised) {
			if r := s.bash(fmt.Sprintf("kill -9 %d", v.pid())); !r.OK {
				s.t.Errorf("%+v", r)
			}
		},
		"stopped while it cannot collect": func(s *sandbox, v *Supervised) {
			if r := s.bash(fmt.Sprintf("kill -STOP %d", v.pid())); !r.OK {
				s.t.Errorf("%+v", r)
			}
			v.Stop()
		},
		"the server is closed": func(s *sandbox, _ *Supervised) { s.stop() },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			mark := fmt.Sprintf("supervised-%d-%s", os.Getpid(), strings.ReplaceAll(name, " ", "-"))
			v := s.supervise(escapees(mark) + "exit 3")
			await(t, "the end of the program", func() bool { return v.status.Load() != nil })
			if status := *v.status.Load(); status.ExitStatus() != 3 {
				t.Errorf("status %v", status)
			}
			if r := s.bash("sleep 100 & setsid sleep 100 & echo done"); r.Output != "done\n" {
				t.Errorf("%+v", r)
			}
			left := strings.Join(marked(t, mark), "\n")
			for _, kind := range []string{"plain", "session", "double", "nested"} { // One whose first thread has ended has no command line.
				if !strings.Contains(left, "escape.py "+kind) {
					t.Errorf("%s is not there after a call:\n%s", kind, left)
				}
			}
			end(s, v)
			wantEnd(t, v)
			await(t, "the end of all", func() bool { return len(marked(t, mark)) == 0 })
			s.stop()
		})
	}
}

func TestSupervisedProgramEnds(t *testing.T) {
	s := newSandbox(t)
	v := s.supervise("exit 7")
	wantEnd(t, v)
	if status := v.status.Load(); status == nil || status.ExitStatus() != 7 {
		t.Errorf("status %v", status)
	}
	v.Stop()
	if _, err := s.programs.StartSupervised([]string{"no-such-program"}, nil, nil, nil, nil); err == nil {
		t.Error("a program that is not there was started")
	}
}

// A supervisor is connected to its program only, and its program's output ends with it.
func TestSupervisedStreams(t *testing.T) {
	s := newSandbox(t)
	p := s.programs
	const openFiles = `ls /proc/self/fd | sort -n | tr '\n' ' '`
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.StartSupervised([]string{"/usr/bin/env", "bash", "-c", `read x; echo "$x $HOME"; ` + openFiles}, p.env, inRead, outWrite, outWrite)
	if err != nil {
		t.Fatal(err)
	}
	_ = inRead.Close()
	_ = outWrite.Close()
	if _, err := inWrite.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 1000)
	n := 0
	for {
		m, err := outRead.Read(out[n:])
		n += m
		if err != nil {
			break
		}
	}
	if want := "hello " + s.workspace + "\n" + s.bash(openFiles).Output; string(out[:n]) != want {
		t.Errorf("%q, want %q", out[:n], want)
	}
	_ = inWrite.Close()
	_ = outRead.Close()
	wantEnd(t, v)
}

// The end of the server, however it came, ends everything that it started.
func TestSupervisorEndsWithTheServer(t *testing.T) {
	s := newSandbox(t)
	mark := fmt.Sprintf("orphaned-%d", os.Getpid())
	v := s.supervise(escapees(mark) + "wait")
	await(t, "processes", func() bool { _, err := os.Stat(s.workspace + "/all-up"); return err == nil })
	if err := v.link.Close(); err != nil { // As the kernel does it for a server that was killed.
		t.Fatal(err)
	}
	wantEnd(t, v)
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}
