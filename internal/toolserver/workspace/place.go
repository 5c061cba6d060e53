// SPDX-License-Identifier: Apache-2.0

//go:build linux

package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLinked is the error of a file from outside of the sandbox whose folder is behind a symbolic link.
var ErrLinked = errors.New("a folder of its path is a symbolic link, or lies behind one")

// Place writes a whole file that comes from outside of the sandbox, as ReplaceAs does, and follows no symbolic link on the way. A program could
// otherwise have the file of a person written over another one, and into folders that are closed to such files.
func (w *Workspace) Place(local string, content io.Reader, also fs.FileMode) error {
	dir, mode, err := w.prepareUnlinked(local)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := w.Root.MkdirAll(TempDir, 0o755); err != nil {
		return err
	}
	temp, err := w.Stage(content, mode|also)
	if err != nil {
		return err
	}
	return w.settleIn(dir, temp, local)
}

// Unlinked reports whether no part of a path is a symbolic link. It holds for the moment only.
func (w *Workspace) Unlinked(local string) bool {
	for at := local; at != "."; at = path.Dir(at) {
		if info, err := w.Root.Lstat(at); err != nil || info.Mode().Type() == fs.ModeSymlink {
			return false
		}
	}
	return true
}

// prepareUnlinked opens the folder of a file before it is written, makes what is missing of it, and returns the permissions for the file.
func (w *Workspace) prepareUnlinked(local string) (dir *os.File, mode fs.FileMode, err error) {
	dir, err = w.openUnlinked(path.Dir(local))
	if err != nil {
		return nil, 0, err
	}
	mode = 0o644
	var stat unix.Stat_t
	err = unix.Fstatat(int(dir.Fd()), path.Base(local), &stat, unix.AT_SYMLINK_NOFOLLOW)
	switch kind := stat.Mode & unix.S_IFMT; {
	case errors.Is(err, unix.ENOENT):
		return dir, mode, nil
	case err != nil:
		err = &fs.PathError{Op: "fstatat", Path: local, Err: err}
	case kind == unix.S_IFDIR:
		err = unix.EISDIR
	case kind == unix.S_IFREG:
		return dir, fs.FileMode(stat.Mode & 0o777), nil
	case kind == unix.S_IFLNK:
		return dir, mode, nil // It is replaced, and its target stays as it is.
	default:
		err = ErrNotRegular
	}
	return nil, 0, errors.Join(err, dir.Close())
}

// openUnlinked opens a folder from the workspace on, name by name, and makes those that are missing.
func (w *Workspace) openUnlinked(local string) (*os.File, error) {
	at, err := w.Root.Open(".")
	if err != nil || local == "." {
		return at, err
	}
	for name := range strings.SplitSeq(local, "/") {
		next, err := enter(at, name)
		if err = errors.Join(err, at.Close()); err != nil {
			return nil, &fs.PathError{Op: "enter", Path: local, Err: err}
		}
		at = next
	}
	return at, nil
}

// enter opens the folder of that name in another one, or makes it.
func enter(at *os.File, name string) (*os.File, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(at.Fd()), name, flags, 0)
	if errors.Is(err, unix.ENOENT) {
		if err := unix.Mkdirat(int(at.Fd()), name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, err
		}
		fd, err = unix.Openat(int(at.Fd()), name, flags, 0)
	}
	if errors.Is(err, unix.ENOTDIR) && isLink(at, name) {
		return nil, ErrLinked
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func isLink(at *os.File, name string) bool {
	var stat unix.Stat_t
	err := unix.Fstatat(int(at.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK
}

// settleIn moves a file of TempDir to its name in an open folder. If that fails, the file is removed.
func (w *Workspace) settleIn(dir *os.File, temp, local string) error {
	from, err := w.Root.Open(path.Dir(temp))
	if err == nil {
		if err = unix.Renameat(int(from.Fd()), path.Base(temp), int(dir.Fd()), path.Base(local)); err != nil {
			err = &os.LinkError{Op: "renameat", Old: temp, New: local, Err: err}
		}
		err = errors.Join(err, from.Close())
	}
	if err != nil {
		_ = w.Root.Remove(temp) // The error that led here is more useful.
		return err
	}
	return w.SyncFolder(path.Dir(local))
}
