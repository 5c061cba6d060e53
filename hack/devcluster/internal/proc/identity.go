// SPDX-License-Identifier: Apache-2.0

// Package proc tells processes apart for certain and ends only those that are ours. A bare process
// id proves nothing: the process may be long gone and its id given to somebody else's.
package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Identity names one process of one boot of the machine, for ever.
type Identity struct {
	PID int `json:"pid"`
	// Start is the process's start time in clock ticks since boot; no two processes with the same
	// id share it.
	Start uint64 `json:"start"`
	// Boot is the kernel's id of this boot. Start times begin again after a reboot.
	Boot string `json:"boot"`
}

// ErrGone says that the process has ended, or that its id now belongs to another one.
var ErrGone = errors.New("the process has ended")

// Identify reads the identity of a running process.
func Identify(pid int) (Identity, error) {
	start, err := startOf(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	boot, err := bootID()
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: boot}, nil
}

// exchanges is how often a process is looked at that is just exchanging its first thread.
const exchanges = 10

// startOf returns the start time of a process that runs. A process that becomes another program from a thread of its own, as Go does it,
// has a first thread that has ended for a moment, and then another one under the same id: it was taken for a component that
// had ended as it was started.
func startOf(pid int) (uint64, error) {
	for range exchanges {
		stat, err := os.ReadFile(procPath(pid, "stat"))
		if err != nil {
			return 0, ErrGone
		}
		s, err := parseStat(string(stat))
		switch {
		case err != nil:
			return 0, err
		case s.threads == 0:
			// It is the first thread that was, and the id has another one now, or none.
		case s.threads == 1 && (s.state == 'Z' || s.state == 'X'):
			return 0, ErrGone
		default:
			return s.start, nil
		}
	}
	return 0, ErrGone
}

// Alive reports whether exactly this process still runs.
func (id Identity) Alive() bool {
	now, err := Identify(id.PID)
	return err == nil && now == id
}

// Signal sends a signal to exactly this process, or returns ErrGone.
func (id Identity) Signal(signal unix.Signal) error {
	return signalIf(id.PID, signal, id.Alive)
}

// signalIf sends a signal to the process that pid names now, if ours holds for it. The process is
// pinned by a file descriptor before it is judged, so it cannot be exchanged in between.
func signalIf(pid int, signal unix.Signal, ours func() bool) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return ErrGone
	}
	defer func() { _ = unix.Close(fd) }()
	if !ours() {
		return ErrGone
	}
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrGone
		}
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}

// stat is what /proc/PID/stat says of a process.
type stat struct {
	state   byte
	threads int
	start   uint64
}

// parseStat takes state (field 3), number of threads (field 20) and start time (field 22) out of /proc/PID/stat. The second
// field is the program's name in brackets and may itself hold spaces and brackets, so counting starts
// after the last one.
func parseStat(line string) (stat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, errors.New("no program name in the process's stat line")
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("only %d fields in the process's stat line", len(fields))
	}
	threads, err := strconv.Atoi(fields[17])
	if err != nil {
		return stat{}, fmt.Errorf("number of threads: %w", err)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time: %w", err)
	}
	return stat{fields[0][0], threads, start}, nil
}

func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(id)), nil
}

func procPath(pid int, parts ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(pid)}, parts...)...)
}
