// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

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
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

const (
	// maxPathBytes is the kernel's own limit.
	maxPathBytes = 4096

	// ownDir is the folder in the workspace that the server uses; list leaves it out.
	ownDir = ".motor"
	// codeDir is where the programs of the code tool are while they run.
	codeDir = ownDir + "/code"
	// tempDir is where files are written before they get their place. In a folder of their own, those that a killed
	// server leaves behind can be found.
	tempDir = ownDir + "/tmp"
)

// workspace is the folder that tools work in. All access goes through os.Root: the programs in the sandbox change the
// folder at the same time, and a check of a path before its use would be a race that they win.
type workspace struct {
	dir  string // absolute, without symbolic links
	root *os.Root
}

func openWorkspace(dir string) (*workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return &workspace{dir: dir, root: root}, nil
}

func (w *workspace) close() error { return w.root.Close() }

// removeLeftovers removes the server's own files that a call in progress had when the former process was killed. What
// that call printed stays, as far as it is kept: it may tell how far the call came.
func (w *workspace) removeLeftovers() error {
	var errs []error
	for _, dir := range []string{codeDir, tempDir} {
		entries, _, err := w.readFolder(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		errs = append(errs, err)
		for _, e := range entries {
			if e.Type().IsRegular() { // Anything else was put there by a program, and is its own affair.
				errs = append(errs, w.root.Remove(path.Join(dir, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// pathError is a path that cannot be meant, or a file that the call cannot use.
type pathError struct{ code, message string }

func (e *pathError) Error() string { return e.message }

// resolve turns a path as a model writes it into a name for os.Root: relative to the workspace, or absolute below it.
func (w *workspace) resolve(name string) (string, error) {
	switch {
	case name == "":
		return "", &pathError{toolapi.CodeInvalidArguments, "The path is empty. Give the path of a file in the workspace."}
	case strings.ContainsRune(name, 0):
		return "", &pathError{toolapi.CodeInvalidArguments, "A path cannot contain a NUL character."}
	case len(name) > maxPathBytes:
		return "", &pathError{toolapi.CodeInvalidArguments, fmt.Sprintf("The path is longer than %d bytes.", maxPathBytes)}
	}
	local := path.Clean(name)
	if path.IsAbs(local) {
		if !within(w.dir, local) {
			return "", w.outside(name)
		}
		local = "." + strings.TrimPrefix(local, strings.TrimSuffix(w.dir, "/"))
		local = path.Clean(local)
	}
	if !filepath.IsLocal(local) {
		return "", w.outside(name)
	}
	return local, nil
}

func (w *workspace) outside(name string) error {
	return &pathError{toolapi.CodeOutsideWorkspace, fmt.Sprintf(
		"%s is outside of the workspace %s. Only files in the workspace can be used; give a path relative to it.", display(name), w.dir)}
}

// errNotRegular is what openFile gives for devices, pipes and sockets.
var errNotRegular = errors.New("not a regular file")

// openFile opens a regular file or a folder. It never waits: opening a named pipe without O_NONBLOCK would stop the
// call until somebody opens the other end.
func (w *workspace) openFile(local string, flags int) (*os.File, fs.FileInfo, error) {
	file, err := w.root.OpenFile(local, flags|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o644)
	if errors.Is(err, syscall.ENXIO) {
		return nil, nil, errNotRegular // A socket, or a pipe without a reader.
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errNotRegular
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// replace writes a whole file so that it has its old or its new content at any time, and makes the folders above it. An
// existing file keeps its permissions; a symbolic link is replaced, and what it leads to stays as it is.
func (w *workspace) replace(local string, content io.Reader) error {
	return w.replaceAs(local, content, 0)
}

// replaceAs is replace for a file that gets further permissions.
func (w *workspace) replaceAs(local string, content io.Reader, also fs.FileMode) error {
	mode, err := w.prepare(local)
	if err != nil {
		return err
	}
	if err := w.root.MkdirAll(tempDir, 0o755); err != nil {
		return err
	}
	temp, err := w.stage(content, mode|also)
	if err != nil {
		return err
	}
	return w.settle(temp, local)
}

// prepare makes the folders above a file that is to be written, and gives the permissions that it is to have.
func (w *workspace) prepare(local string) (fs.FileMode, error) {
	const mode = fs.FileMode(0o644)
	switch info, err := w.root.Lstat(local); {
	case errors.Is(err, fs.ErrNotExist):
		return mode, w.root.MkdirAll(path.Dir(local), 0o755)
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, syscall.EISDIR
	case info.Mode().IsRegular():
		return info.Mode().Perm(), nil
	case info.Mode().Type() != fs.ModeSymlink:
		return 0, errNotRegular
	}
	return mode, nil
}

// settle gives a file of tempDir its place. It is gone from there if that fails.
func (w *workspace) settle(temp, local string) error {
	if err := w.root.Rename(temp, local); err != nil {
		_ = w.root.Remove(temp) // The error that led here says more.
		return err
	}
	return w.syncFolder(path.Dir(local))
}

// stage writes a new file in tempDir, complete and on disk, and gives its name.
func (w *workspace) stage(content io.Reader, mode fs.FileMode) (temp string, err error) {
	temp = path.Join(tempDir, rand.Text())
	file, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync() // The ledger says that the file was written, so it must be there after a power cut too.
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = w.root.Remove(temp) // The error that led here says more.
		return "", err
	}
	return temp, nil
}

// syncFolder puts a folder's entries on disk. One that may be written and not read cannot be opened, and is left alone.
func (w *workspace) syncFolder(local string) error {
	dir, err := w.root.OpenFile(local, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// create makes a new file with the folders above it, in place of whatever has its name.
func (w *workspace) create(local string) (*os.File, error) { return w.createAs(local, 0o644) }

// createAs is create for a file with these permissions.
func (w *workspace) createAs(local string, mode fs.FileMode) (*os.File, error) {
	if err := w.root.MkdirAll(path.Dir(local), 0o755); err != nil {
		return nil, err
	}
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	file, err := w.root.OpenFile(local, flags, mode)
	if errors.Is(err, fs.ErrExist) {
		if err := w.root.RemoveAll(local); err != nil {
			return nil, err
		}
		file, err = w.root.OpenFile(local, flags, mode)
	}
	return file, err
}

// holds says whether the file has exactly this content.
func (w *workspace) holds(local string, content []byte) (bool, error) {
	file, info, err := w.openFile(local, os.O_RDONLY)
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

// permits says whether a file has these permissions.
func (w *workspace) permits(local string, also fs.FileMode) bool {
	info, err := w.root.Lstat(local)
	return err == nil && info.Mode().Perm()&also == also
}

// fileFailure is the envelope for an error of a file operation. name is the path as the model gave it.
func (w *workspace) fileFailure(doing, name string, err error) toolapi.Result {
	name = display(name)
	var bad *pathError
	switch {
	case errors.As(err, &bad):
		return tool.Failure(bad.code, "%s", bad.message)
	case errors.Is(err, fs.ErrNotExist):
		return tool.Failure(toolapi.CodeNotFound, "Cannot %s %s: there is no such file or folder. Look first at what is in the folder above it.", doing, name)
	case escapes(err):
		return tool.Failure(toolapi.CodeOutsideWorkspace,
			"Cannot %s %s: a symbolic link on the way leads out of the workspace or is absolute. Use a path without that link.", doing, name)
	case errors.Is(err, syscall.EISDIR):
		return tool.Failure(toolapi.CodeIsDirectory, "Cannot %s %s: it is a folder. Give the path of a file.", doing, name)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return tool.Failure(toolapi.CodeNotDirectory, "Cannot %s %s: a part of the path is not a folder.", doing, name)
	case errors.Is(err, errNotRegular):
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

// escapes recognises the error of os.Root for a path that leads out. The package exports no value to compare with; a
// test fails if the text changes.
func escapes(err error) bool {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return err != nil && err.Error() == "path escapes from parent"
}

// display is a path for a message: on one line, and not longer than a message should be.
func display(name string) string {
	const most = 200
	shown := plaintext.Bound(strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(name), most)
	if len(name) > most {
		return shown + "…"
	}
	return shown
}

// put makes a file of the server's own, with that mode.
func (w *workspace) put(local, content string, mode fs.FileMode) error {
	file, err := w.create(local)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if err == nil {
		err = file.Chmod(mode)
	}
	return errors.Join(err, file.Close())
}

// stays reports whether a file looks as it did; nil is one that was not there.
func (w *workspace) stays(local string, was fs.FileInfo) bool {
	if was == nil {
		return false
	}
	is, err := w.root.Lstat(local)
	return err == nil && is.Mode() == was.Mode() && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}
