// SPDX-License-Identifier: Apache-2.0

//go:build linux

package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// partsPrefix begins the name of the file in TempDir that the parts of an input file are put into. There is one at a time.
const partsPrefix = "input-"

var (
	// ErrPartMissing is the error for a part whose predecessors are not there. A server that starts removes them.
	ErrPartMissing = errors.New("the parts of the file before this one are not there; put it from its beginning")
	// ErrOtherFile is the error for parts that are not those of the announced file.
	ErrOtherFile = errors.New("the parts are not the file of that digest")
)

// PartsName is where the parts of a file are collected.
func PartsName(local, sum string) string {
	name := sha256.Sum256([]byte(sum + "\x00" + local))
	return TempDir + "/" + partsPrefix + hex.EncodeToString(name[:16])
}

// HoldsSum reports whether there is a regular file of that size and digest.
func (w *Workspace) HoldsSum(local string, size int64, want string) (bool, error) {
	file, info, err := w.OpenFile(local, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if info.IsDir() || info.Size() != size {
		return false, nil
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, size+1))
	return err == nil && n == size && hex.EncodeToString(sum.Sum(nil)) == want, err
}

// AddPart writes a part into the file of that name. The first part makes the file, and removes the remains of another one.
func (w *Workspace) AddPart(temp string, offset int64, content []byte) error {
	if offset == 0 {
		if err := w.beginParts(temp); err != nil {
			return err
		}
	}
	file, info, err := w.OpenFile(temp, os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrPartMissing
	}
	if err != nil {
		return err
	}
	if info.Size() < offset {
		err = ErrPartMissing
	} else {
		_, err = file.WriteAt(content, offset)
	}
	return errors.Join(err, file.Close())
}

// beginParts makes the file empty, and the only one of its kind.
func (w *Workspace) beginParts(temp string) error {
	if err := w.Root.MkdirAll(TempDir, 0o755); err != nil {
		return err
	}
	entries, _, err := w.ReadFolder(TempDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partsPrefix) {
			if err := w.Root.RemoveAll(path.Join(TempDir, e.Name())); err != nil {
				return err
			}
		}
	}
	file, err := w.Root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// FinishParts moves a complete file to its path, as Place does.
func (w *Workspace) FinishParts(temp, local string, part toolapi.Part, also fs.FileMode) error {
	same, err := w.HoldsSum(temp, part.Size, part.SHA256)
	if err == nil && !same {
		err = ErrOtherFile
	}
	if err != nil {
		return err
	}
	dir, mode, err := w.prepareUnlinked(local)
	if err != nil {
		return err
	}
	defer dir.Close()
	file, _, err := w.OpenFile(temp, os.O_WRONLY)
	if err != nil {
		return err
	}
	err = file.Chmod(mode | also)
	if err == nil {
		err = file.Sync() // It is there for good, or not at all.
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return w.settleIn(dir, temp, local)
}
