// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"errors"
	"fmt"

	"motorcortex.dev/motorcortex/internal/toolserver/disk"
)

// Causes of the end of calls that run.
var (
	// ErrStopped: the server stops.
	ErrStopped = errors.New("the tool server was stopped")
	// ErrCancelled: the client asked for it.
	ErrCancelled = errors.New("the call was cancelled")
	// ErrHalted: the sandbox has a hole.
	ErrHalted = fmt.Errorf("%w: the sandbox was halted", ErrCancelled)
)

const (
	// HaltedText tells the model why its call was ended.
	HaltedText = "the walls around the sandbox had a hole, so everything in it was ended; nothing was undone, and it goes on now that they are closed"
	// DiskFullEnded begins the text about a full disk.
	DiskFullEnded = "every program in the sandbox was ended, those in the background too, because the disk is full: "
	// StateVolume is the name of the volume with the sandbox's own records.
	StateVolume = "state"
)

// DiskFullError is the cause of the end of calls that run when a volume is full.
type DiskFullError struct{ disk.Full }

// Error names the volume, its usage, and the fix.
func (e *DiskFullError) Error() string {
	free := e.Free()
	what := fmt.Sprintf("%s holds %d bytes in %d files, and may hold %d bytes in %d files",
		e.Volume.Dir, e.Used.Bytes, e.Used.Inodes, e.Volume.Bytes, e.Volume.Inodes)
	if e.Volume.Name == StateVolume {
		return what + ": the sandbox's own records are full, no call is made any more, and nothing in the sandbox can change that; finish with what you have"
	}
	how := fmt.Sprintf("%d bytes", free.Bytes)
	if free.Inodes > 0 {
		how = fmt.Sprintf("%d bytes and %d files", free.Bytes, free.Inodes)
	}
	return fmt.Sprintf("%s; remove %s there (rm, find -delete): until then programs can read and delete and not write, and calls that write are refused",
		what, how)
}
