// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// killTimeout bounds the attempts to kill what a call has left. A process that the kernel holds in an
	// uninterruptible wait cannot be killed by anybody.
	killTimeout = 5 * time.Second
	// reapPause keeps a program that makes orphans in a loop from keeping the server busy with them.
	reapPause = 5 * time.Millisecond

	prSetChildSubreaper = 36
)

// reaper owns the processes below this one.
//
// Orphans, the processes whose parent ended first, become our children: as process 1 of the container by themselves,
// otherwise because we ask for it. Nobody else collects them, and as zombies they would use up the container's limit
// of processes. But the exit status of our own child must be left to its Wait: whoever collects a process takes its
// status away. So an orphan is told from a child by the list of children in flight, and the list is changed under
// the lock under which it is read: a child cannot end between its start and its entry and be taken for an orphan.
type reaper struct {
	log     *slog.Logger
	mu      sync.Mutex
	own     map[int]bool
	signals chan os.Signal
	stopped chan struct{}
}

func newReaper(log *slog.Logger) (*reaper, error) {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return nil, fmt.Errorf("become the parent of orphans: %w", errno)
	}
	r := &reaper{
		log:     log,
		own:     make(map[int]bool),
		signals: make(chan os.Signal, 1),
		stopped: make(chan struct{}),
	}
	signal.Notify(r.signals, syscall.SIGCHLD)
	go r.collect()
	return r, nil
}

func (r *reaper) close() {
	signal.Stop(r.signals)
	close(r.signals)
	<-r.stopped
}

// collect collects orphans whenever a child has ended.
func (r *reaper) collect() {
	defer close(r.stopped)
	for range r.signals {
		r.mu.Lock()
		r.scan()
		r.mu.Unlock()
		<-time.After(reapPause) // Signals that come meanwhile are one signal afterwards.
	}
}

// start starts a child.
func (r *reaper) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		r.own[cmd.Process.Pid] = true
	}
	return err
}

// wait collects a child that has ended. The lock is held, so that its number is off the list before an orphan can get
// the same number and be left alone for it.
func (r *reaper) wait(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := cmd.Wait()
	delete(r.own, cmd.Process.Pid)
	return err
}

// killAll kills every process below this one but for the children in flight, which have ended already, and returns how
// many are left after killTimeout.
func (r *reaper) killAll() int {
	deadline := time.Now().Add(killTimeout)
	for round := 0; ; round++ {
		r.mu.Lock()
		left, complete := r.scan()
		r.mu.Unlock()
		if len(left) == 0 && complete {
			return 0
		}
		if time.Now().After(deadline) {
			return len(left)
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // It fails only for what has just ended.
		}
		if round > 0 && os.Getpid() == 1 {
			// Processes that fork faster than one can read /proc die only if all are hit in one go. As process 1, -1
			// means everything in the container but us. It is not the first means because it also meets the shell of
			// an administrator who looks at the container.
			_ = syscall.Kill(-1, syscall.SIGKILL)
		}
		<-time.After(min(time.Millisecond<<min(round, 5), 20*time.Millisecond))
	}
}

// scan collects the orphans that have ended and gives the numbers of the other processes below this one, but for the
// children in flight. complete is false if a process went away during the look, so that its children may be missing.
//
// Zombies count as processes: one whose first thread has ended shows as a zombie while its other threads run.
func (r *reaper) scan() (left []int, complete bool) {
	table, complete, err := processTable()
	if err != nil {
		r.log.Error("the list of processes cannot be read", "error", err)
		return nil, false
	}
	self := os.Getpid()
	for pid, parent := range table {
		if r.own[pid] || !table.below(pid, self) {
			continue
		}
		left = append(left, pid)
		if parent == self {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // Nothing happens if it has not ended.
		}
	}
	return left, complete
}

// table has the parent of every process.
type table map[int]int

// below says whether root is an ancestor of pid.
func (t table) below(pid, root int) bool {
	for hops := 0; hops <= len(t); hops++ { // The table is no snapshot, so it may hold a ring.
		parent, ok := t[pid]
		if !ok {
			return false
		}
		if parent == root {
			return true
		}
		pid = parent
	}
	return false
}

// processTable reads /proc; complete says that no process went away during that.
func processTable() (t table, complete bool, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false, err
	}
	t = make(table, len(entries))
	complete = true
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			complete = false
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if t[pid], err = parentOf(stat); err != nil {
			return nil, false, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return t, complete, nil
}

// parentOf reads "PID (NAME) STATE PPID …". The process chooses its name, which may contain anything: what counts
// begins after the last parenthesis.
func parentOf(stat []byte) (int, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("its status %q cannot be understood", stat)
	}
	return strconv.Atoi(string(fields[1]))
}
