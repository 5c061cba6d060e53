// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// LinkTimeout is what may pass between the end of a supervisor and that of its link. Another process of the sandbox may
	// have taken a copy of the supervisor's end of it, and keep it.
	LinkTimeout = time.Second
	// StopTimeout is how long stop waits for a supervisor that was killed.
	StopTimeout = 2*heldTimeout + LinkTimeout
)

// NewLink makes the link between the server and a supervisor.
func NewLink() (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a link to a supervisor: %w", err)
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(err, syscall.Close(fds[0]), syscall.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link"), nil
}
