// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harvest

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolserver/changes"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// SavedPaths are the files that were saved by name.
func (a *Artifacts) SavedPaths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.saved)
}

// Diffed is the workspace as its changes are looked for.
func (a *Artifacts) Diffed() changes.Workspace { return diffedFolder{a} }

// diffedFolder is the workspace as its changes are looked for.
type diffedFolder struct{ a *Artifacts }

// Lstat implements changes.Workspace.
func (d diffedFolder) Lstat(path string) (fs.FileInfo, error) { return d.a.w.Root.Lstat(path) }

// ReadFolder implements changes.Workspace.
func (d diffedFolder) ReadFolder(path string) ([]fs.DirEntry, bool, error) {
	return d.a.w.ReadFolder(path)
}

// Open implements changes.Workspace. It reports that there is no such file for a folder and for a path whose parent does not exist.
func (d diffedFolder) Open(path string) (io.ReadCloser, fs.FileInfo, error) {
	file, info, err := d.a.Open(path)
	switch {
	case err == nil:
		return file, info, nil
	case errors.Is(err, ErrLinked):
		err = changes.ErrLink
	case errors.Is(err, workspace.ErrNotRegular):
		err = changes.ErrNotRegular
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		err = fs.ErrNotExist
	}
	return nil, nil, err
}
