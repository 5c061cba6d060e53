// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Pause stops every program of the sandbox, so that nothing changes while look looks. If that reports so, they are killed, except for
// supervisors, which end by themselves when nothing is below them; else they go on.
func (r *Reaper) Pause(look func(still bool) (kill bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused = true
	defer func() { r.paused = false }()
	r.signalBelow(syscall.SIGSTOP)
	if look(r.awaitStand()) {
		for range 2 { // A process that was just being made when the signal came is seen by the second look.
			signalEach(r.programs(), syscall.SIGKILL)
		}
	}
	r.signalBelow(syscall.SIGCONT)
}

// signalBelow sends a signal to all that is below the server. As process 1 that is everything, which no fork escapes.
func (r *Reaper) signalBelow(sig syscall.Signal) {
	if os.Getpid() == 1 {
		_ = syscall.Kill(-1, sig) // It fails only if there is nothing.
		return
	}
	for range 2 { // As in pause.
		t, _ := r.table()
		for pid := range t {
			if t.Below(pid, os.Getpid()) {
				_ = syscall.Kill(pid, sig) // It fails only for a process that has just ended.
			}
		}
	}
}

// awaitStand waits, for a short time, for the processes that were sent a stop, and reports whether they stand still. A program that waits
// for a processor stops when it has one.
func (r *Reaper) awaitStand() bool {
	for range 10 {
		if r.stand() {
			return true
		}
		<-time.After(time.Millisecond)
	}
	return false
}

// stoodStates are the states of threads that do nothing: stopped, traced and stopped, ended.
const stoodStates = "TtZX"

// stand reports whether each thread of the processes below the server is stopped, or has ended. One in a system call is not, until that
// ends: a large write takes a second.
func (r *Reaper) stand() bool {
	t, complete := r.table()
	for pid := range t {
		if !t.Below(pid, os.Getpid()) {
			continue
		}
		tasks := strconv.Itoa(pid) + "/task"
		folder, err := os.Open("/proc/" + tasks)
		if err != nil {
			return false
		}
		names, err := folder.Readdirnames(-1)
		_ = folder.Close()
		if err != nil {
			return false
		}
		for _, name := range names {
			stat, err := readStat(tasks + "/" + name)
			if fields := statFields(stat); err != nil || len(fields) == 0 || !strings.ContainsAny(string(fields[0]), stoodStates) {
				return false
			}
		}
	}
	return complete
}

// programs are the processes below this one, except for the launcher and the supervisors.
func (r *Reaper) programs() (pids []int) {
	t, _ := r.table()
	for pid := range t {
		if !r.isServer(pid) && t.Below(pid, os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Spares reports whether a process is the server's own, or is about to run a program in the server's name. The callers of pause call it,
// within pause and outside of it.
func (r *Reaper) Spares(pid int) bool {
	if !r.paused {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	return r.isServer(pid) || r.isMade(pid)
}

func (r *Reaper) isServer(pid int) bool { return pid == r.launch.pid() || r.own[pid] == Supervisor }
