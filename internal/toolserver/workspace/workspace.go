// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package workspace is the folder that tools work in. Programs change it at the same time, so every access to a file goes through its
// os.Root.
package workspace

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

const (
	// MaxFolderEntries is the most entries of one folder that are read: a folder of millions must not fill the memory.
	MaxFolderEntries = 10_000
	// MaxPathBytes is the kernel's own limit.
	MaxPathBytes = 4096

	// GitDir is the folder of a repository. Tools leave it out, as OwnDir, unless it is named.
	GitDir = ".git"
	// OwnDir is the folder in the workspace that the server uses; list leaves it out.
	OwnDir = ".motor"
	// CodeDir is where the programs of the code tool are while they run.
	CodeDir = OwnDir + "/code"
	// TempDir is where files are written before they are moved to their path. In a folder of their own, the leftovers of a killed server can
	// be found.
	TempDir = OwnDir + "/tmp"
)

// Workspace is the folder that tools work in. All access goes through os.Root: the programs in the sandbox change the folder at the same
// time. They would win the race between a check of a path and its use.
type Workspace struct {
	// Dir is absolute, without symbolic links.
	Dir string
	// Root is the way to all of its files.
	Root *os.Root
}

// Open opens a folder that is there.
func Open(dir string) (*Workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return &Workspace{Dir: dir, Root: root}, nil
}

// Close closes the folder.
func (w *Workspace) Close() error { return w.Root.Close() }

// RemoveLeftovers removes the server's own files of a call that was in progress when the former process was killed. The stored output of
// that call stays: it may show how far the call came.
func (w *Workspace) RemoveLeftovers() error {
	var errs []error
	for _, dir := range []string{CodeDir, TempDir} {
		entries, _, err := w.ReadFolder(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		errs = append(errs, err)
		for _, e := range entries {
			if e.Type().IsRegular() { // Anything else was put there by a program, and is its own affair.
				errs = append(errs, w.Root.Remove(path.Join(dir, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// pathError is a path that cannot be meant, or a file that the call cannot use.
type pathError struct{ code, message string }

// Error returns the text for the model.
func (e *pathError) Error() string { return e.message }

// BadPath returns the pathError of a code and a text for the model.
func BadPath(code, message string) error { return &pathError{code: code, message: message} }

// Resolve turns a path as a model writes it into a name for os.Root: relative to the workspace, or absolute below it.
func (w *Workspace) Resolve(name string) (string, error) {
	switch {
	case name == "":
		return "", BadPath(toolapi.CodeInvalidArguments, "The path is empty. Give the path of a file in the workspace.")
	case strings.ContainsRune(name, 0):
		return "", BadPath(toolapi.CodeInvalidArguments, "A path cannot contain a NUL character.")
	case len(name) > MaxPathBytes:
		return "", BadPath(toolapi.CodeInvalidArguments, fmt.Sprintf("The path is longer than %d bytes.", MaxPathBytes))
	}
	local := path.Clean(name)
	if path.IsAbs(local) {
		if !Within(w.Dir, local) {
			return "", w.outside(name)
		}
		local = "." + strings.TrimPrefix(local, strings.TrimSuffix(w.Dir, "/"))
		local = path.Clean(local)
	}
	if !filepath.IsLocal(local) {
		return "", w.outside(name)
	}
	return local, nil
}

func (w *Workspace) outside(name string) error {
	return BadPath(toolapi.CodeOutsideWorkspace, fmt.Sprintf(
		"%s is outside of the workspace %s. Only files in the workspace can be used; give a path relative to it.", Display(name), w.Dir))
}

// ErrNotRegular is the error of OpenFile for devices, pipes and sockets.
var ErrNotRegular = errors.New("not a regular file")

// OpenFile opens a regular file or a folder. It never waits: opening a named pipe without O_NONBLOCK would block the call until another
// process opens the other end.
func (w *Workspace) OpenFile(local string, flags int) (*os.File, fs.FileInfo, error) {
	file, err := w.Root.OpenFile(local, flags|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o644)
	if errors.Is(err, syscall.ENXIO) {
		return nil, nil, ErrNotRegular // A socket, or a pipe without a reader.
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// Replace writes a whole file so that it has its old or its new content at any time, and makes the folders above it. An existing file
// retains its permissions; a symbolic link is replaced, and its target stays as it is.
func (w *Workspace) Replace(local string, content io.Reader) error {
	return w.ReplaceAs(local, content, 0)
}

// ReplaceAs is replace for a file that gets further permissions.
func (w *Workspace) ReplaceAs(local string, content io.Reader, also fs.FileMode) error {
	mode, err := w.Prepare(local)
	if err != nil {
		return err
	}
	if err := w.Root.MkdirAll(TempDir, 0o755); err != nil {
		return err
	}
	temp, err := w.Stage(content, mode|also)
	if err != nil {
		return err
	}
	return w.settle(temp, local)
}

// Prepare makes the folders above a file before it is written, and returns the permissions for it.
func (w *Workspace) Prepare(local string) (fs.FileMode, error) {
	const mode = fs.FileMode(0o644)
	switch info, err := w.Root.Lstat(local); {
	case errors.Is(err, fs.ErrNotExist):
		return mode, w.Root.MkdirAll(path.Dir(local), 0o755)
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, syscall.EISDIR
	case info.Mode().IsRegular():
		return info.Mode().Perm(), nil
	case info.Mode().Type() != fs.ModeSymlink:
		return 0, ErrNotRegular
	}
	return mode, nil
}

// settle moves a file of TempDir to its path. If that fails, the file is removed.
func (w *Workspace) settle(temp, local string) error {
	if err := w.Root.Rename(temp, local); err != nil {
		_ = w.Root.Remove(temp) // The error that led here is more useful.
		return err
	}
	return w.SyncFolder(path.Dir(local))
}

// Stage writes a new file in TempDir, complete and on disk, and returns its name.
func (w *Workspace) Stage(content io.Reader, mode fs.FileMode) (temp string, err error) {
	temp = path.Join(TempDir, rand.Text())
	file, err := w.Root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync() // The ledger will record the file as written, so it must survive a power cut too.
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = w.Root.Remove(temp) // The error that led here is more useful.
		return "", err
	}
	return temp, nil
}

// SyncFolder puts a folder's entries on disk. A folder that may be written and not read cannot be opened, and is skipped.
func (w *Workspace) SyncFolder(local string) error {
	dir, err := w.Root.OpenFile(local, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Create makes a new file with the folders above it, and replaces any entry of that name.
func (w *Workspace) Create(local string) (*os.File, error) { return w.CreateAs(local, 0o644) }

// CreateAs is create for a file with these permissions.
func (w *Workspace) CreateAs(local string, mode fs.FileMode) (*os.File, error) {
	if err := w.Root.MkdirAll(path.Dir(local), 0o755); err != nil {
		return nil, err
	}
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	file, err := w.Root.OpenFile(local, flags, mode)
	if errors.Is(err, fs.ErrExist) {
		if err := w.Root.RemoveAll(local); err != nil {
			return nil, err
		}
		file, err = w.Root.OpenFile(local, flags, mode)
	}
	return file, err
}

// Holds reports whether the file has exactly this content.
func (w *Workspace) Holds(local string, content []byte) (bool, error) {
	file, info, err := w.OpenFile(local, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if info.IsDir() || info.Size() != int64(len(content)) {
		return false, nil
	}
	found, err := io.ReadAll(io.LimitReader(file, int64(len(content))+1))
	return err == nil && bytes.Equal(found, content), err
}

// Permits reports whether a file has these permissions.
func (w *Workspace) Permits(local string, also fs.FileMode) bool {
	info, err := w.Root.Lstat(local)
	return err == nil && info.Mode().Perm()&also == also
}

// Failure is the envelope for an error of a file operation. name is the path as the model wrote it.
func (w *Workspace) Failure(doing, name string, err error) toolapi.Result {
	name = Display(name)
	var bad *pathError
	switch {
	case errors.As(err, &bad):
		return tool.Failure(bad.code, "%s", bad.message)
	case errors.Is(err, fs.ErrNotExist):
		return tool.Failure(toolapi.CodeNotFound, "Cannot %s %s: there is no such file or folder. Look first at what is in the folder above it.", doing, name)
	case Escapes(err):
		return tool.Failure(toolapi.CodeOutsideWorkspace,
			"Cannot %s %s: a symbolic link on the way leads out of the workspace or is absolute. Use a path without that link.", doing, name)
	case errors.Is(err, syscall.EISDIR):
		return tool.Failure(toolapi.CodeIsDirectory, "Cannot %s %s: it is a folder. Give the path of a file.", doing, name)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return tool.Failure(toolapi.CodeNotDirectory, "Cannot %s %s: a part of the path is not a folder.", doing, name)
	case errors.Is(err, ErrNotRegular):
		return tool.Failure(toolapi.CodeInvalidArguments, "Cannot %s %s: it is not a regular file but a pipe, socket or device. Use a file.", doing, name)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return tool.Failure(toolapi.CodePermission, "Cannot %s %s: its permissions forbid it. Change them (chmod), or use another path.", doing, name)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return tool.Failure(toolapi.CodeDiskFull, "Cannot %s %s: the workspace is full. Remove files that are no longer needed and try again.", doing, name)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return tool.Failure(toolapi.CodeInvalidArguments,
			"Cannot %s %s: the path has a name of more than 255 bytes or too many symbolic links. Use another path.", doing, name)
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return tool.Failure(toolapi.CodeInternal, "Cannot %s %s: the file could not be used. Try again.", doing, name)
	}
	r := tool.Failure(toolapi.CodeInternal, "Cannot %s %s: %v. Try again.", doing, name, errno)
	r.Retryable = errno.Temporary() || errno == syscall.ENOMEM
	return r
}

// Escapes recognises the error of os.Root for a path that leads out. The package exports no value to compare with; a
// test fails if the text changes.
func Escapes(err error) bool {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return err != nil && err.Error() == "path escapes from parent"
}

// Display is a path for a message: on one line, and not longer than a message should be.
func Display(name string) string {
	const most = 200
	shown := plaintext.Bound(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(name), most)
	if len(name) > most {
		return shown + "…"
	}
	return shown
}

// Put makes a file of the server's own, with that mode.
func (w *Workspace) Put(local, content string, mode fs.FileMode) error {
	file, err := w.Create(local)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if err == nil {
		err = file.Chmod(mode)
	}
	return errors.Join(err, file.Close())
}

// Stays reports whether a file looks as it did; nil is one that was not there.
func (w *Workspace) Stays(local string, was fs.FileInfo) bool {
	if was == nil {
		return false
	}
	is, err := w.Root.Lstat(local)
	return err == nil && is.Mode() == was.Mode() && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}

// ReadFolder reads the entries of a folder, sorted by name; more is true if it has more than are read.
func (w *Workspace) ReadFolder(local string) (entries []fs.DirEntry, more bool, err error) {
	dir, err := w.Root.OpenFile(local, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	entries, err = dir.ReadDir(MaxFolderEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if len(entries) > MaxFolderEntries {
		return entries[:MaxFolderEntries], true, nil
	}
	return entries, false, nil
}

// Within reports whether path is dir or below it. Both are absolute and clean.
func Within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+string(os.PathSeparator))
}
