// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package proc starts the processes of tools, holds them, and ends them: each in a sandbox of the kernel's within the Pod's, and none of them
// is lost from sight.
package proc

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killTimeout bounds the attempts to kill the leftover processes of a call. A process that the kernel holds in an uninterruptible wait
	// cannot be killed.
	killTimeout = 5 * time.Second
	// sparingTimeout is when what would not die otherwise is killed together with everything else.
	sparingTimeout = 2 * time.Second
	// reapPause keeps a program that makes orphans in a loop from keeping the server busy with them.
	reapPause = 5 * time.Millisecond
	// maxOrphans is how many are collected at once.
	maxOrphans = 1000
)

// Reaper owns the processes below this one.
//
// Orphans, the processes whose parent ended first, become our children: as process 1 of the container by themselves, otherwise because we
// ask for it. No other process collects them, and as zombies they would use up the container's limit of processes. But the exit status of
// our own child must be left to its Wait: collecting a process consumes its status. So the list of children in flight distinguishes an
// orphan from a child. The list is changed under the lock under which it is read: a child cannot end between its start and its entry and be
// taken for an orphan.
type Reaper struct {
	log     *slog.Logger
	mu      sync.Mutex
	own     map[int]Kind
	launch  *launcher
	signals chan os.Signal
	// paused is true if pause holds the lock; only the caller of pause reads it.
	paused bool
	// now is the clock of kill.
	now func() time.Time
	// stop ends what collects orphans, and stopped is closed when that has ended.
	stop, stopped chan struct{}
}

// Kind is the kind of a child in flight.
type Kind int

const (
	// foreground: it is waited for, and everything below the server that is not below a supervisor is its work.
	Foreground Kind = iota
	// Supervisor: the processes below it live on between calls.
	Supervisor
)

// NewReaper starts a launcher, and becomes the parent of orphans below this process.
func NewReaper(log *slog.Logger, self string, hold Confinement) (*Reaper, error) {
	launch, err := newLauncher(log, self, hold)
	if err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		launch.close()
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
	}
	r := &Reaper{
		log:     log,
		own:     make(map[int]Kind),
		launch:  launch,
		signals: make(chan os.Signal, 1),
		now:     time.Now,
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	signal.Notify(r.signals, syscall.SIGCHLD)
	go r.collect()
	return r, nil
}

// Close ends the launcher, and collects nothing any more.
func (r *Reaper) Close() {
	signal.Stop(r.signals)
	close(r.stop)
	<-r.stopped
	r.launch.close()
}

// WhileHeld does something that starts and collects children of its own. The reaper looks at none meanwhile, and starts none.
func (r *Reaper) WhileHeld(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

// LauncherPID returns the number of the launcher, 0 if there is none.
func (r *Reaper) LauncherPID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.launch.pid()
}

// ReplaceLauncher ends the launcher and replaces it with another process. It is for tests of launchers that misbehave.
func (r *Reaper) ReplaceLauncher(process *exec.Cmd, link *os.File) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.launch.end()
	if err := process.Start(); err != nil {
		return err
	}
	r.launch.process, r.launch.link = process, link
	return nil
}

// collect collects orphans whenever a child has ended.
func (r *Reaper) collect() {
	defer close(r.stopped)
	for {
		select {
		case <-r.stop:
			return
		case <-r.signals:
		}
		r.mu.Lock()
		r.collectOrphans()
		r.mu.Unlock()
		<-time.After(reapPause) // Signals that come meanwhile are one signal afterwards.
	}
}

// collectOrphans collects the orphans that have ended. The kernel shows the first child that has ended. If that one is in flight, the
// orphans behind it are collected at the next look, after the child was waited for.
func (r *Reaper) collectOrphans() {
	for range maxOrphans {
		info, errno := waitID(unix.P_ALL, 0, syscall.WEXITED|syscall.WNOHANG)
		pid := int(info.pid)
		_, own := r.own[pid]
		switch {
		case errno != 0 || pid == 0:
			return
		case !info.ended(): // It has made this process the one that traces it, and stands in the way of those behind it.
			_, _ = waitID(unix.P_PID, pid, syscall.WSTOPPED|syscall.WNOHANG)
		case own:
			return
		case pid == r.launch.pid(): // It is waited for only at the next start, and others may be behind it.
			r.launch.end()
		default:
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // It has ended.
		}
	}
	select {
	case r.signals <- syscall.SIGCHLD: // There may be more.
	default:
	}
}

// Start starts a child. KillAll spares processes below a supervisor. As long as a child is in flight, its number is not reused.
func (r *Reaper) Start(s Start, as Kind) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := r.launch.start(s)
	if err == nil {
		r.own[pid] = as
	}
	return pid, err
}

// Ready returns an error if no program can be started.
func (r *Reaper) Ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.launch.ready()
}

// Wait collects a child that has ended. The lock is held, so that its number is off the list before an orphan can get
// the same number and be left alone for it.
func (r *Reaper) Wait(pid int) (status syscall.WaitStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	delete(r.own, pid)
	r.collectOrphans()
	return status
}

// KillAll kills every process below this one, except for children in flight and for processes below supervisors. Of the children in flight
// all but supervisors have ended already. It returns how many are left after killTimeout.
func (r *Reaper) KillAll() int { return r.kill(r.scan) }

// KillTree kills everything below a supervisor, and then the supervisor if that is necessary.
func (r *Reaper) KillTree(root int) {
	signal := func(sig syscall.Signal) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, there := r.own[root]
		return there && syscall.Kill(root, sig) == nil
	}
	if !signal(syscall.SIGCONT) { // It must not be stopped: it has zombies to collect.
		return
	}
	r.kill(func() (left []int, complete bool) {
		if _, there := r.own[root]; !there {
			return nil, true
		}
		table, complete := r.table()
		for pid := range table {
			if table.Below(pid, root) {
				left = append(left, pid)
			}
		}
		return left, complete
	})
	signal(syscall.SIGKILL)
}

// kill kills the processes that find returns until there are none, and returns how many are left after killTimeout. find is called with the
// lock held and reports whether it has seen all.
//
// The time that kill waits for the lock does not count: pause holds it for as long as a count of the disk takes. kill gives up only after a
// second look, so that a slow first one does not leave everything alive.
func (r *Reaper) kill(find func() (left []int, complete bool)) int {
	var waited time.Duration
	began := r.now()
	for round := 0; ; round++ {
		asked := r.now()
		r.mu.Lock()
		waited += r.now().Sub(asked)
		left, complete := find()
		if len(left) == 0 && complete {
			r.mu.Unlock()
			return 0
		}
		signalEach(left, syscall.SIGKILL)
		took := r.now().Sub(began) - waited
		if round > 0 && took > killTimeout {
			r.mu.Unlock()
			return len(left)
		}
		if round > 0 && os.Getpid() == 1 {
			r.killInOneGo(find, took > sparingTimeout)
		}
		r.mu.Unlock()
		<-time.After(min(time.Millisecond<<min(round, 5), 20*time.Millisecond))
	}
}

// killInOneGo is for processes that fork faster than one can read /proc: they die only if all are hit in one go. As process 1, -1 means
// everything in the container but us. It is not the first means because it also kills the shell of an administrator who looks at the
// container.
//
// Where there are processes to spare, everything is stopped in one go instead. A stopped process does not fork, and can be found without
// haste. If a program evades that, the spared processes are killed as well in the end.
func (r *Reaper) killInOneGo(find func() (left []int, complete bool), unsparing bool) {
	sparing := r.supervisors() > 0
	if sparing && unsparing {
		r.log.Warn("processes could not be killed by themselves: everything is killed, also what runs in the background")
	}
	if unsparing || !sparing {
		_ = syscall.Kill(-1, syscall.SIGKILL) // It fails only if there is nothing.
		return
	}
	_ = syscall.Kill(-1, syscall.SIGSTOP) // As above.
	for range 2 {                         // A process that was just being made when the signal came is seen by the second look.
		left, _ := find()
		signalEach(left, syscall.SIGKILL)
	}
	_ = syscall.Kill(-1, syscall.SIGCONT) // As above.
}

func signalEach(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // It fails only for a process that has just ended.
	}
}

// CountSupervised counts the supervisors.
func (r *Reaper) CountSupervised() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.supervisors()
}

func (r *Reaper) supervisors() (n int) {
	for _, kind := range r.own {
		if kind == Supervisor {
			n++
		}
	}
	return n
}

// scan collects the orphans that have ended and returns the numbers of the other processes below this one, except for the children in
// flight and for processes below supervisors. complete is false if a process went away during the look, so that its children may be
// missing.
//
// Zombies count as processes: one whose first thread has ended shows as a zombie while its other threads run.
func (r *Reaper) scan() (left []int, complete bool) {
	table, complete := r.table()
	self := os.Getpid()
	for pid, parent := range table {
		if _, own := r.own[pid]; own || pid == r.launch.pid() || !table.Below(pid, self) || r.spared(table, pid) {
			continue
		}
		left = append(left, pid)
		if parent == self {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // Nothing happens if it has not ended.
		}
	}
	return left, complete
}

func (r *Reaper) spared(t Table, pid int) bool {
	for root, kind := range r.own {
		if kind == Supervisor && t.Below(pid, root) {
			return true
		}
	}
	return false
}

func (r *Reaper) table() (t Table, complete bool) {
	t, complete, err := ProcessTable()
	if err != nil {
		r.log.Error("the list of processes cannot be read", "error", err)
		return nil, false
	}
	return t, complete
}
