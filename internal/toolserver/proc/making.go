// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// makingName is the name of a supervisor's thread while the supervisor makes the process of its program. A thread has its name from
	// its own process alone, and the memory of a supervisor is closed to programs.
	makingName = "motor-making"
	// notExecuted is the flag of a process that has run no program since it was forked (PF_FORKNOEXEC).
	notExecuted = 0x40
)

// nameThread names this thread, of up to 15 bytes.
func nameThread(name string) error {
	text, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(text)), 0, 0, 0)
}

// isMade reports whether a process is one that a supervisor is just making. Until it runs its program, such a process has the memory of the
// supervisor, which is closed, and runs nothing but the supervisor's code. No program can be mistaken for it: as long as the supervisor has
// its name for this, it has collected no child, so that an only child is the one that it made itself. An orphan that became its child is
// not an only child: the program that the orphan comes from is there as well.
func (r *Reaper) isMade(pid int) bool {
	stat, err := readStat(strconv.Itoa(pid))
	if err != nil {
		return false
	}
	parent, err := parentOf(stat)
	if err != nil || r.own[parent] != Supervisor || !hasNotExecuted(stat) {
		return false
	}
	t, _ := r.table()
	for other, its := range t {
		if its == parent && other != pid {
			return false
		}
	}
	return hasThread(parent, makingName) // At last: the children are those from before it has another name.
}

// hasNotExecuted reads "PID (NAME) STATE PPID PGRP SESSION TTY TPGID FLAGS …".
func hasNotExecuted(stat []byte) bool {
	const flags = 6
	fields := statFields(stat)
	if len(fields) <= flags {
		return false
	}
	n, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	return err == nil && n&notExecuted != 0
}

// hasThread reports whether a thread of a process has that name.
func hasThread(pid int, name string) bool {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if comm, err := os.ReadFile(tasks + "/" + e.Name() + "/comm"); err == nil && string(comm) == name+"\n" {
			return true
		}
	}
	return false
}
