// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxOutputsBytes is the most that the kept outputs of all calls together take. Without a limit, a run whose calls print
// a lot would fill its workspace with what it printed, and the node would evict the Pod for that.
const maxOutputsBytes = 256 << 20

// createOutput makes the file for a call's output, after it has made room by removing the oldest outputs.
func (w *workspace) createOutput(local string) (*os.File, error) {
	if err := w.pruneOutputs(maxOutputsBytes - maxSpillBytes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return w.create(local)
}

// pruneOutputs removes the oldest outputs until the rest has at most the given number of bytes.
func (w *workspace) pruneOutputs(most int64) error {
	entries, _, err := w.readFolder(toolapi.OutputDir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		// What is not a file was put there by a program, and is its own affair. The entry's own Info would look it up by
		// the folder's path, which may lead elsewhere by now.
		if info, err := w.root.Lstat(path.Join(toolapi.OutputDir, e.Name())); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= most {
			break
		}
		if err := w.root.Remove(path.Join(toolapi.OutputDir, f.Name())); err != nil {
			return err
		}
		total -= f.Size()
	}
	return nil
}
