// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// fileChange is what becomes of one file.
type fileChange struct {
	local string
	// before is the file as it was read, nil if there was none.
	before fs.FileInfo
	// there is true if there is a file afterwards, with this content and these permissions.
	there   bool
	content string
	mode    fs.FileMode
}

// errMeanwhile is the error of changeAll for a file that is not the one that was read.
var errMeanwhile = errors.New("changed meanwhile by a program in the background")

// changeError is the failure of one of several changes. notUndone are the files that could not be put back.
type changeError struct {
	local     string
	err       error
	notUndone []string
}

func (e *changeError) Error() string { return fmt.Sprintf("change %s: %v", e.local, e.err) }
func (e *changeError) Unwrap() error { return e.err }

// changeAll makes all of the changes, in their order, or none. Everything that takes space is written before the first file changes; the
// former contents are retained until the last one did.
func (w fileTools) changeAll(changes []fileChange) error {
	if err := w.Root.MkdirAll(workspace.TempDir, 0o755); err != nil {
		return &changeError{local: workspace.TempDir, err: err}
	}
	c := changer{w: w}
	defer c.clear()
	staged := make([]string, len(changes))
	for i, change := range changes {
		if !change.there {
			continue
		}
		temp, err := w.Stage(strings.NewReader(change.content), change.mode)
		if err != nil {
			return &changeError{local: change.local, err: err}
		}
		staged[i] = temp
		c.temps = append(c.temps, temp)
	}
	for i, change := range changes {
		err := c.make(change, staged[i])
		if err == nil {
			err = w.SyncFolder(path.Dir(change.local))
		}
		if err != nil {
			return &changeError{local: change.local, err: err, notUndone: c.undoAll()}
		}
	}
	return nil
}

// changer makes changes and can undo them.
type changer struct {
	w     fileTools
	temps []string // files to remove in the end, if they are still there
	undo  []undo
}

// undo puts one file back.
type undo struct {
	local string
	run   func() error
}

// clear removes the temporary files. Those that cannot be removed are removed at the next start of the server.
func (c *changer) clear() {
	for _, temp := range c.temps {
		_ = c.w.Root.Remove(temp)
	}
}

// undoAll undoes the changes, the last one first, and returns the files for which that failed.
func (c *changer) undoAll() (failed []string) {
	for _, u := range slices.Backward(c.undo) {
		if err := u.run(); err != nil {
			failed = append(failed, u.local)
		}
	}
	return failed
}

// make makes one change. staged is the new content.
func (c *changer) make(change fileChange, staged string) error {
	if err := c.w.unchanged(change); err != nil {
		return err
	}
	if change.before == nil {
		if !change.there {
			return nil
		}
		if err := c.folders(path.Dir(change.local)); err != nil {
			return err
		}
		if err := c.w.Root.Rename(staged, change.local); err != nil {
			return err
		}
		c.undo = append(c.undo, undo{change.local, func() error { return c.w.Root.Remove(change.local) }})
		return nil
	}
	kept := path.Join(workspace.TempDir, rand.Text())
	// A second name for the old content lets the new one replace it in one step. Some file systems have no such names.
	if !change.there || c.w.Root.Link(change.local, kept) != nil {
		if err := c.w.Root.Rename(change.local, kept); err != nil {
			return err
		}
	}
	c.undo = append(c.undo, undo{change.local, func() error { return c.w.Root.Rename(kept, change.local) }})
	c.temps = append(c.temps, kept)
	if change.there {
		return c.w.Root.Rename(staged, change.local)
	}
	return nil
}

// unchanged reports whether a file is still the one that was read.
func (w fileTools) unchanged(change fileChange) error {
	info, err := w.Root.Lstat(change.local)
	switch {
	case change.before == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case change.before == nil, !os.SameFile(info, change.before), info.Size() != change.before.Size(), !info.ModTime().Equal(change.before.ModTime()):
		return errMeanwhile
	}
	return nil
}

// folders makes a folder and those above it.
func (c *changer) folders(local string) error {
	var missing []string
	for dir := local; dir != "."; dir = path.Dir(dir) {
		if _, err := c.w.Root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		if err := c.w.Root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		c.undo = append(c.undo, undo{dir, func() error {
			err := c.w.Root.Remove(dir)
			if errors.Is(err, syscall.ENOTEMPTY) {
				return nil // A program put something into it meanwhile.
			}
			return err
		}})
	}
	return nil
}
