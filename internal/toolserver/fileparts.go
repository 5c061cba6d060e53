// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
)

// partsPrefix begins the name of the file in tempDir that the parts of an input file are put into. There is one at a time.
const partsPrefix = "input-"

// errPartMissing says that a part comes whose predecessors are not there. A server that starts removes them.
var errPartMissing = request.Refuse(
	http.StatusConflict, toolapi.ErrPartMissing, "the parts of the file before this one are not there; put it from its beginning")

// putPart puts a part of an input file where the whole is collected, and with the last part the whole into the workspace.
// Repeating the part that came last is harmless.
func (s *Server) putPart(r *request.Request, local string, part toolapi.Part, content []byte, also fs.FileMode) (toolapi.File, error) {
	if int64(len(content)) != part.Length() {
		return toolapi.File{}, request.Bad("the part at %d of %d bytes must have %d", part.Offset, part.Size, part.Length())
	}
	whole := toolapi.File{Path: local, Size: part.Size, SHA256: part.SHA256}
	if part.Offset == 0 || part.Last() {
		if same, err := s.workspace.holdsSum(local, part.Size, part.SHA256); err == nil && same && s.workspace.permits(local, also) {
			return whole, nil
		}
	}
	done, err := s.enterForInput(r, local)
	if err != nil {
		return toolapi.File{}, err
	}
	defer done()
	temp := partsName(local, part.SHA256)
	err = s.workspace.addPart(temp, part.Offset, content)
	if err == nil && !part.Last() {
		return toolapi.File{Path: local, Size: part.Offset + part.Length()}, nil
	}
	if err == nil {
		err = s.workspace.finishParts(temp, local, part, also)
	}
	if err != nil {
		_ = s.workspace.root.Remove(temp) // It would take room that the workspace may be short of. The error says more.
		return toolapi.File{}, inputError(local, err)
	}
	return whole, nil
}

// partsName is where the parts of a file are collected.
func partsName(local, sum string) string {
	name := sha256.Sum256([]byte(sum + "\x00" + local))
	return tempDir + "/" + partsPrefix + hex.EncodeToString(name[:16])
}

// holdsSum says whether there is a regular file of that size and digest.
func (w *workspace) holdsSum(local string, size int64, want string) (bool, error) {
	file, info, err := w.openFile(local, os.O_RDONLY)
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

// addPart writes a part into the file of that name. The first part makes the file, and removes what is left of another one.
func (w *workspace) addPart(temp string, offset int64, content []byte) error {
	if offset == 0 {
		if err := w.beginParts(temp); err != nil {
			return err
		}
	}
	file, info, err := w.openFile(temp, os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return errPartMissing
	}
	if err != nil {
		return err
	}
	if info.Size() < offset {
		err = errPartMissing
	} else {
		_, err = file.WriteAt(content, offset)
	}
	return errors.Join(err, file.Close())
}

// beginParts makes the file empty, and the only one of its kind.
func (w *workspace) beginParts(temp string) error {
	if err := w.root.MkdirAll(tempDir, 0o755); err != nil {
		return err
	}
	entries, _, err := w.readFolder(tempDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partsPrefix) {
			if err := w.root.RemoveAll(path.Join(tempDir, e.Name())); err != nil {
				return err
			}
		}
	}
	file, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// finishParts gives a file that is complete its place.
func (w *workspace) finishParts(temp, local string, part toolapi.Part, also fs.FileMode) error {
	same, err := w.holdsSum(temp, part.Size, part.SHA256)
	if err == nil && !same {
		err = request.Bad("the parts of %s are not the file of that digest", display(local))
	}
	if err != nil {
		return err
	}
	mode, err := w.prepare(local)
	if err != nil {
		return err
	}
	file, _, err := w.openFile(temp, os.O_WRONLY)
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
	return w.settle(temp, local)
}
