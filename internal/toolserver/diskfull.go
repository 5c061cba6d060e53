// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"fmt"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/disk"
)

// fileLimit makes the result of a program that a file at its limit has ended one of disk_full, and says so to the model.
func (p *processes) fileLimit(result *toolapi.Result, status syscall.WaitStatus) string {
	if p.sizes.File() <= 0 || !disk.EndedByLimit(status) {
		return ""
	}
	result.ErrorCode = toolapi.CodeDiskFull
	return fmt.Sprintf("[disk_full: a file would have grown past %d bytes, the size of the workspace %s, so the program that wrote it was ended; "+
		"write less, and remove with rm what is no longer needed]\n", p.sizes.File(), p.workspace.dir)
}
