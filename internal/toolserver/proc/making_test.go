// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"bufio"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// makingReaper has the launcher and one supervisor.
func makingReaper(pid int) *Reaper {
	log := slog.New(slog.DiscardHandler)
	return &Reaper{log: log, own: map[int]Kind{pid: Supervisor}, launch: &launcher{log: log}}
}

// A supervisor is stopped between the fork and the exec of its program. The child has closed memory then, and is no program that hides.
func TestASupervisorsChildThatRunsNothingYetIsSpared(t *testing.T) {
	runtime.LockOSThread() // Only the thread that traces may go on with it.
	defer runtime.UnlockOSThread()
	link, theirs, err := NewLink()
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{SupervisorName, "/bin/sleep", "1000"}, ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Ptrace: true},
	}
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		t.Fatal(err)
	}
	parent := cmd.Process.Pid
	child := awaitVfork(t, parent)
	defer func() {
		for _, pid := range []int{child, parent} {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for { // Each of their threads that is traced must be collected.
			if _, err := syscall.Wait4(-1, nil, syscall.WALL, nil); err == syscall.ECHILD {
				return
			}
		}
	}()
	r := makingReaper(parent)
	for range 3 { // However often it is seen.
		if !r.Spares(child) {
			t.Fatal("a process that runs nothing but the supervisor's code is taken for a program")
		}
	}
	if !makingReaper(child).Spares(child) || r.Spares(os.Getpid()) {
		t.Error("the server's own processes are mistaken")
	}
}

// awaitVfork resumes a process that stops because it is traced until it makes a child, and returns that. Both are stopped then.
func awaitVfork(t *testing.T, pid int) (child int) {
	t.Helper()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		t.Fatalf("it does not stop: %v %#x", err, status)
	}
	const exitKill = 0x100000 // PTRACE_O_EXITKILL: nothing is left when the test ends early.
	if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACEVFORK|syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		t.Fatal(err)
	}
	for stopped := pid; ; {
		_ = syscall.PtraceCont(stopped, 0) // It fails for a thread that has just ended.
		var err error
		if stopped, err = syscall.Wait4(-1, &status, syscall.WALL, nil); err != nil {
			t.Fatal(err)
		}
		switch {
		case stopped == pid && (status.Exited() || status.Signaled()):
			t.Fatalf("it ended: %#x", status)
		case status.Stopped() && status.TrapCause() == syscall.PTRACE_EVENT_VFORK:
			made, err := syscall.PtraceGetEventMsg(stopped)
			if err != nil {
				t.Fatal(err)
			}
			return int(made)
		}
	}
}

// No program below a supervisor is mistaken for a child that the supervisor is making, whatever its name is.
func TestNoProgramPassesForASupervisorsChild(t *testing.T) {
	const name = "import ctypes, os, sys, time\ndef name(n): ctypes.CDLL(None).prctl(15, n.encode(), 0, 0, 0)\n"
	const child = "def child():\n  pid = os.fork()\n  if pid == 0:\n    name('motor-making'); time.sleep(1000)\n  return pid\n"
	for test, c := range map[string]struct {
		program string
		other   bool // The parent is no supervisor.
		want    bool
	}{
		"like a supervisor":              {"name('motor-making'); print(child(), flush=True)", false, true},
		"of a program":                   {"name('motor-making'); print(child(), flush=True)", true, false},
		"after the supervisor made it":   {"name('motor-supervisor'); print(child(), flush=True)", false, false},
		"an orphan beside a zombie":      {"name('motor-making')\nif os.fork() == 0: os._exit(0)\nprint(child(), flush=True)", false, false},
		"one that runs another program":  {"name('motor-making'); import subprocess; print(subprocess.Popen(['sleep', '1000']).pid, flush=True)", false, false},
		"beside one that is made, later": {"name('motor-making'); p = child(); child(); print(p, flush=True)", false, false},
	} {
		t.Run(test, func(t *testing.T) {
			cmd := exec.Command("python3", "-c", name+child+c.program+"\ntime.sleep(1000)")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				_ = cmd.Wait()
			})
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			supervisor := cmd.Process.Pid
			if c.other {
				supervisor = os.Getpid()
			}
			if got := makingReaper(supervisor).Spares(pid); got != c.want {
				t.Errorf("spared: %v", got)
			}
		})
	}
}
