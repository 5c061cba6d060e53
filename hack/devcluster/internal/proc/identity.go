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
	stat, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	start, state, err := parseStat(string(stat))
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return Identity{}, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	boot, err := bootID()
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: boot}, nil
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

// parseStat takes state (field 3) and start time (field 22) out of /proc/PID/stat. The second field
// is the program's name in brackets and may itself hold spaces and brackets, so counting starts
// after the last one.
func parseStat(stat string) (start uint64, state byte, err error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, errors.New("no program name in the process's stat line")
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("only %d fields in the process's stat line", len(fields))
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("start time: %w", err)
	}
	return start, fields[0][0], nil
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
