// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
)

// holder takes hold of the process whose command line begins with the mark, or whose number is in the file "target", by
// ptrace, and never takes notice of its end. It takes a copy of its file 3, too, if it can.
const holder = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
mark = sys.argv[1]
def target():
    if os.path.exists("target"):
        return int(open("target").read())
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open("/proc/%s/cmdline" % pid).read().startswith(mark):
                return int(pid)
        except OSError:
            pass
while not (pid := target()):
    time.sleep(0.001)
if libc.ptrace(0x4206, pid, None, None) != 0:
    os.write(os.open("refused", os.O_CREAT | os.O_WRONLY), os.strerror(ctypes.get_errno()).encode())
    sys.exit(1)
libc.syscall(438, os.pidfd_open(pid), 3, 0)
open("held", "w").close()
time.sleep(1000)
`

// holds waits until the holder holds its target, and skips the test where tracing is not permitted.
func (s *sandbox) holds() {
	s.t.Helper()
	await(s.t, "the holder", func() bool {
		if why := s.content("refused"); why != "" {
			s.t.Skipf("a process cannot be traced here: %s", why)
		}
		_, err := os.Stat(s.workspace + "/held")
		return err == nil
	})
}

// endsSoon fails the test unless do returns before a call would be given up.
func endsSoon(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not end", what)
	}
}

// A program in the background cannot keep a call from its end by keeping that of the call's program to itself.
func TestTracedProgramDoesNotHoldItsCall(t *testing.T) {
	s := newSandbox(t)
	s.write("holder.py", holder)
	mark := fmt.Sprintf("traced-%d", os.Getpid())
	s.supervise("exec python3 holder.py " + mark)
	endsSoon(t, "the call", func() {
		s.run(toolapi.ToolBash, toolapi.BashArgs{Command: "exec -a " + mark + " sleep 1000", TimeoutSeconds: 2})
	})
	s.holds()
	if r := s.bash("echo well"); !strings.HasPrefix(r.Output, "well\n") {
		t.Errorf("%+v", r)
	}
}

// tracedByServer makes the server the one that traces one of its threads, and ends without waiting for that thread. The number of
// the launcher, which it ends before, is the first argument.
const tracedByServer = `
import ctypes, os, signal, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
traced = threading.Event()
def thread():
    if libc.ptrace(0, 0, None, None) != 0:
        os.write(os.open("refused", os.O_CREAT | os.O_WRONLY), os.strerror(ctypes.get_errno()).encode())
    open("held", "w").close()
    traced.set()
    signal.pause()
threading.Thread(target=thread, daemon=True).start()
traced.wait()
os.kill(int(sys.argv[1]), signal.SIGKILL)
os._exit(0)
`

// A thread whose end the server alone can take notice of, behind a launcher that has ended, does not hold the call either.
func TestThreadThatIsTracedByTheServer(t *testing.T) {
	s := newSandbox(t)
	s.write("traced.py", tracedByServer)
	if r := s.bash("true"); !r.OK {
		t.Fatalf("%+v", r)
	}
	launcher := s.programs.reaper.LauncherPID()
	endsSoon(t, "the call", func() {
		s.run(toolapi.ToolBash, toolapi.BashArgs{Command: fmt.Sprintf("exec python3 traced.py %d", launcher), TimeoutSeconds: 2})
	})
	s.holds()
	if r := s.bash("echo well"); !strings.HasPrefix(r.Output, "well\n") {
		t.Errorf("%+v", r)
	}
}

// threadHolder takes hold of another thread of the process than the first by ptrace, and of all of them on their way to the end.
const threadHolder = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
while not os.path.exists("target"):
    time.sleep(0.001)
pid = int(open("target").read())
for task in sorted(map(int, os.listdir("/proc/%d/task" % pid)), reverse=True):
    if libc.ptrace(0x4206, task, None, int(sys.argv[1])) != 0:
        os.write(os.open("refused", os.O_CREAT | os.O_WRONLY), os.strerror(ctypes.get_errno()).encode())
        sys.exit(1)
    if sys.argv[1] == "0":
        break
open("held", "w").close()
time.sleep(1000)
`

// heldProgram has two threads, writes its process number to a file, and lets every process trace it.
const heldProgram = `
import ctypes, os, threading, time
ctypes.CDLL(None).prctl(0x59616d61, -1, 0, 0, 0)
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
open("target.new", "w").write(str(os.getpid()))
os.rename("target.new", "target")
time.sleep(1000)
`

// Nor can one that holds another thread than the first, or all of them before their end.
func TestProgramThatIsHeldOnItsWayToTheEnd(t *testing.T) {
	for name, options := range map[string]string{"another thread": "0", "before the end": fmt.Sprint(1 << 6)} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			s.write("holder.py", threadHolder)
			s.write("held.py", heldProgram)
			s.supervise("exec python3 holder.py " + options)
			endsSoon(t, "the call", func() {
				s.run(toolapi.ToolBash, toolapi.BashArgs{Command: "exec python3 held.py", TimeoutSeconds: 3})
			})
			s.holds()
			if r := s.bash("echo well"); !strings.HasPrefix(r.Output, "well\n") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Nor can one keep another from being stopped, by the same means and with the link to the server in its hands.
func TestTracedSupervisorIsStopped(t *testing.T) {
	s := newSandbox(t)
	s.write("holder.py", holder)
	victim := s.supervise("sleep 1000")
	s.write("target", fmt.Sprint(victim.pid()))
	s.supervise("exec python3 holder.py -")
	s.holds()
	endsSoon(t, "stop", victim.Stop)
	endsSoon(t, "the supervisor", func() { <-victim.done() })
	if n := s.programs.reaper.CountSupervised(); n > 1 {
		t.Errorf("%d supervisors are counted", n)
	}
}

// A supervisor that keeps its link open in another process is over when it is dead.
func TestLinkThatIsKeptOpen(t *testing.T) {
	s := newSandbox(t)
	v := &Supervised{runner: s.programs, ended: make(chan struct{})}
	v.end = func() { close(v.ended) }
	link, theirs, err := proc.NewLink()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	v.link = link
	if v.number, err = s.programs.reaper.Start(proc.Start{
		Path: "/bin/true", Args: []string{"true"}, Dir: "/", Files: []*os.File{nil, nil, nil},
	}, proc.Supervisor); err != nil {
		t.Fatal(err)
	}
	s.programs.supervisors.running.Add(1)
	endsSoon(t, "watch", v.watch)
}

// lostLauncher is a launcher that starts the program of an order, stops it, and ends without an answer.
func lostLauncher(t *testing.T, link net.Conn, started chan<- int) {
	file, err := link.(*net.UnixConn).File()
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	if err := syscall.SetNonblock(int(file.Fd()), false); err != nil {
		t.Error(err)
	}
	s, fds, err := proc.ReceiveStart(int(file.Fd()))
	if err != nil {
		t.Error(err)
		return
	}
	pid, err := syscall.ForkExec(s.Path, s.Args, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	for _, fd := range fds {
		_ = syscall.Close(int(fd))
	}
	if err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
	started <- pid
}

// A launcher that ends before it has read all of an order has started nothing: the next one gets the order.
func TestOrderThatALauncherLeavesUnread(t *testing.T) {
	for name, reads := range map[string]int{"nothing is read": 0, "a part is read": 6} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			ours, theirs, err := proc.NewLink()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.programs.reaper.ReplaceLauncher(exec.Command("sleep", "1000"), ours); err != nil {
				t.Fatal(err)
			}
			go func() {
				fd := int(theirs.Fd())
				_, _, err := syscall.Recvfrom(fd, make([]byte, 1), syscall.MSG_PEEK) // An order is there.
				if err == nil && reads > 0 {
					_, err = syscall.Read(fd, make([]byte, reads))
				}
				if err := errors.Join(err, theirs.Close()); err != nil {
					t.Error(err)
				}
			}()
			if r := s.bash("echo well"); r.Output != "well\n" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A program that a launcher started without a report before it ended, or was stopped, does not remain.
func TestSupervisorOfALostLauncherIsEnded(t *testing.T) {
	s := newSandbox(t)
	p := s.programs
	ours, theirs, err := proc.NewLink()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.FileConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	if err := p.reaper.ReplaceLauncher(exec.Command("sleep", "1000"), ours); err != nil {
		t.Fatal(err)
	}
	started := make(chan int, 1)
	go func() {
		lostLauncher(t, conn, started)
		_ = conn.Close()
	}()
	v, err := p.StartSupervised([]string{"bash", "-c", "sleep 1000"}, p.env, nil, nil, nil)
	if !errors.Is(err, proc.ErrLauncher) {
		t.Fatalf("%v %v", v, err)
	}
	pid := <-started
	if proc.IsOwnChild(pid) {
		t.Errorf("process %d is left behind", pid)
	}
	if n := p.reaper.CountSupervised(); n != 0 {
		t.Errorf("%d supervisors are counted", n)
	}
	if r := s.bash("echo well"); r.Output != "well\n" {
		t.Errorf("%+v", r)
	}
}
