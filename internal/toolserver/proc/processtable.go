// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// Table has the parent of every process.
type Table map[int]int

// Below reports whether root is an ancestor of pid.
func (t Table) Below(pid, root int) bool {
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

// ProcessTable reads /proc; complete is true if no process went away during that.
func ProcessTable() (t Table, complete bool, err error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, false, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, false, err
	}
	t = make(Table, len(names))
	complete = true
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := readStat(name)
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

// readStat reads the beginning of a process's status. It is read for every process at the end of every call, without what
// os.ReadFile does to files that may have any length or be waited for.
func readStat(pid string) ([]byte, error) {
	fd, err := syscall.Open("/proc/"+pid+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }()
	stat := make([]byte, 256) // The name has 64 bytes at most.
	for {
		n, err := syscall.Read(fd, stat)
		if err == syscall.EINTR {
			continue
		}
		return stat[:max(n, 0)], err
	}
}

// parentOf reads "PID (NAME) STATE PPID …". The process chooses its name, which may contain anything: what counts
// begins after the last parenthesis.
func parentOf(stat []byte) (int, error) {
	fields := statFields(stat)
	if len(fields) < 2 {
		return 0, fmt.Errorf("its status %q cannot be understood", stat)
	}
	return strconv.Atoi(string(fields[1]))
}

// statFields are STATE PPID … of a status.
func statFields(stat []byte) [][]byte { return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) }
