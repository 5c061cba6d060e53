// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

// Mark proves that a process is ours by where it lives rather than by a record that was made of it:
// this finds containers, shims, and daemons whose parent was killed before it could write their ids
// down.
type Mark func(pid int) bool

// InNamespace is the mark of processes in the network namespace that the file refers to. It holds
// for nothing when there is no such namespace.
func InNamespace(file string) Mark {
	var want unix.Stat_t
	if unix.Stat(file, &want) != nil {
		return func(int) bool { return false }
	}
	return func(pid int) bool {
		var got unix.Stat_t
		return unix.Stat(procPath(pid, "ns", "net"), &got) == nil && got.Dev == want.Dev && got.Ino == want.Ino
	}
}

// Sweep kills every process that bears one of the marks, children that appear meanwhile included,
// and returns how many there were. The calling process is spared.
func Sweep(ctx context.Context, deadline time.Duration, marks ...Mark) (int, error) {
	killed := map[int]bool{}
	err := wait.Until(ctx, deadline, 20*time.Millisecond, func(context.Context) error {
		left, err := sweepOnce(killed, marks)
		if err != nil {
			return err
		}
		if left > 0 {
			return fmt.Errorf("%d processes of the cluster do not end", left)
		}
		return nil
	})
	return len(killed), err
}

func sweepOnce(killed map[int]bool, marks []Mark) (left int, err error) {
	pids, err := all()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		ours := func() bool {
			for _, mark := range marks {
				if mark(pid) {
					return true
				}
			}
			return false
		}
		if pid == os.Getpid() || !ours() {
			continue
		}
		if _, err := Identify(pid); errors.Is(err, ErrGone) {
			continue // a zombie keeps its cgroup until its parent collects it, but holds nothing
		}
		switch err := signalIf(pid, unix.SIGKILL, ours); {
		case err == nil:
			killed[pid] = true
			left++
		case !errors.Is(err, ErrGone):
			return 0, err
		}
	}
	return left, nil
}

// all lists the process ids of the machine.
func all() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
