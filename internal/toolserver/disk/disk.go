// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package disk bounds a sandbox's use of its node's disk.
//
// A sized emptyDir is a folder of the node's own filesystem. The kubelet compares its size with the limit once in a while, and a program
// writes gigabytes in between. So the tool server enforces the bounds by itself, without any privilege. No file grows past the size of the
// workspace (a limit of each process), and a Watch counts blocks and inodes while something runs.
package disk

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

const (
	// EnvWorkspace, EnvTemp and EnvState are the environment variables with the sizes of the volumes, in bytes.
	EnvWorkspace = "MOTOR_WORKSPACE_BYTES"
	EnvTemp      = "MOTOR_TMP_BYTES"
	EnvState     = "MOTOR_STATE_BYTES"

	// bytesPerInode is the average size of a file if files use up both bounds at once.
	bytesPerInode = 4 << 10
	// minInodes is for small volumes: below it, a program would reach the bound before it is seen.
	minInodes = 16 << 10
	// maxInodes bounds the time that a count takes.
	maxInodes = 1 << 20
)

// Sizes are those of a sandbox's volumes in bytes; 0 means that there is no bound.
type Sizes struct{ Workspace, Temp, State int64 }

// SizesOf reads the sizes from the environment. A variable that is not set means no bound: older managers do not set it.
func SizesOf(getenv func(string) string) (s Sizes, err error) {
	for name, into := range map[string]*int64{EnvWorkspace: &s.Workspace, EnvTemp: &s.Temp, EnvState: &s.State} {
		text := getenv(name)
		if text == "" {
			continue
		}
		if *into, err = strconv.ParseInt(text, 10, 64); err != nil || *into <= 0 {
			return Sizes{}, fmt.Errorf("%s is %q, and must be a number of bytes above 0", name, text)
		}
	}
	return s, nil
}

// File is the most that a file of a program may have, 0 if there is no bound. A process has one limit for all volumes, so it is
// that of the workspace, where the largest files are.
func (s Sizes) File() int64 { return s.Workspace }

// Inodes is the most files, folders and links that a volume of that size may hold.
func Inodes(size int64) int64 { return min(max(size/bytesPerInode, minInodes), maxInodes) }

// LimitFiles bounds each file that this process, and its children, may write. 0 does nothing. An existing lower limit stays.
func LimitFiles(most int64) error {
	if most <= 0 {
		return nil
	}
	var have syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &have); err != nil {
		return fmt.Errorf("read the limit of files: %w", err)
	}
	limit := min(have.Max, uint64(most))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("limit the size of files: %w", err)
	}
	return nil
}

// Survive keeps the signal of a file at its limit from ending this process: the write fails instead. It is caught and not ignored, because
// programs that this process starts inherit ignored signals.
func Survive() { signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ) }

// EndedByLimit reports whether a program ended because a file was at its limit: by the signal, or by the exit status with which a shell
// reports the signal.
func EndedByLimit(status syscall.WaitStatus) bool {
	const shell = 128
	return status.Signaled() && status.Signal() == syscall.SIGXFSZ || status.Exited() && status.ExitStatus() == shell+int(syscall.SIGXFSZ)
}
