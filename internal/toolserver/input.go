// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/harvest"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// putFile puts one input file into the workspace. Once a call has started, the workspace belongs to the run. From then on, a file is
// refused unless it is there with exactly these bytes: the loop that goes on after a restart would otherwise undo the changes of calls to
// their input.
func (s *Server) putFile(r *request.Request, name string) (any, error) {
	content, err := r.Content(toolapi.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	local, err := s.workspace.Resolve(name)
	if err != nil {
		return nil, request.Bad("%v", err)
	}
	if local == "." || strings.HasSuffix(name, "/") || local == workspace.OwnDir || strings.HasPrefix(local, workspace.OwnDir+"/") {
		return nil, request.Bad("%s cannot be an input file: it is a folder, or in the tool server's own folder %s", workspace.Display(name), workspace.OwnDir)
	}
	also, err := permissions(r)
	if err != nil {
		return nil, err
	}
	part, err := toolapi.PartOf(r.URL.Query())
	if err != nil {
		return nil, request.Bad("%v", err)
	}
	if err := s.takeProvenance(r); err != nil {
		return nil, err
	}
	if part != nil {
		file, err := s.putPart(r, local, *part, content, also)
		if err == nil && file.SHA256 != "" {
			err = s.given.PutSum(local, file.Size, file.SHA256, also != 0)
		}
		return file, err
	}
	if err := s.place(r, local, content, also); err != nil {
		return nil, err
	}
	if err := s.given.Put(local, content, also != 0); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return toolapi.File{Path: local, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}, nil
}

// permissions are those that an input file gets beside those of every file.
func permissions(r *request.Request) (fs.FileMode, error) {
	switch r.Header.Get(toolapi.HeaderExecutable) {
	case "":
		return 0, nil
	case strconv.FormatBool(true):
		return 0o111, nil
	default:
		return 0, request.Bad("the header %s may only be true", toolapi.HeaderExecutable)
	}
}

// getFile reads one small file of the workspace. It never waits, and reads the current content: a running call may be writing it.
func (s *Server) getFile(name string) (any, error) {
	local, err := s.workspace.Resolve(name)
	if err != nil {
		return nil, request.Bad("%v", err)
	}
	content, err := readSmall(s.workspace, local)
	if err != nil {
		return nil, readError(name, err)
	}
	return toolapi.FileContent{Path: local, Content: content, Size: int64(len(content))}, nil
}

// readError distinguishes a problem with a file from the faults of the sandbox.
func readError(name string, err error) error {
	var wrong *request.Refusal
	switch {
	case errors.As(err, &wrong):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, workspace.ErrNotRegular), errors.Is(err, harvest.ErrLinked):
		return request.Refuse(http.StatusNotFound, toolapi.ErrNotFound, fmt.Sprintf("there is no regular file %s in the workspace", workspace.Display(name)))
	case workspace.Escapes(err), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		return request.Bad("%s cannot be read: %v", workspace.Display(name), err)
	}
	return fmt.Errorf("read %s from the workspace: %w", workspace.Display(name), err)
}

// readSmall reads a regular file of at most toolapi.MaxReadBytes.
func readSmall(w *workspace.Workspace, local string) ([]byte, error) {
	file, info, err := w.OpenFile(local, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.IsDir() {
		return nil, workspace.ErrNotRegular
	}
	// The reported size of a file and the bytes that can be read of it may differ: the file may grow meanwhile.
	content, err := io.ReadAll(io.LimitReader(file, toolapi.MaxReadBytes+1))
	if err == nil && len(content) > toolapi.MaxReadBytes {
		err = request.Refuse(http.StatusRequestEntityTooLarge, toolapi.ErrTooLarge, fmt.Sprintf("a file that is read may have %d bytes", toolapi.MaxReadBytes))
	}
	return content, err
}

func (s *Server) place(r *request.Request, local string, content []byte, also fs.FileMode) error {
	same, err := s.workspace.Holds(local, content)
	if err == nil && same && s.workspace.Permits(local, also) && s.mayStay(local) {
		return nil
	}
	done, err := s.enterForInput(r, local)
	if err != nil {
		return err
	}
	defer done()
	if err := s.workspace.Place(local, bytes.NewReader(content), also); err != nil {
		return inputError(local, err)
	}
	return nil
}

// ofAnswer reports whether a file goes with an answer of a person.
func ofAnswer(local string) bool { return strings.HasPrefix(local, toolapi.AnswersDir+"/") }

// mayStay reports whether a file that is there with the wanted content counts as put there. Behind a link, it would be one of another folder.
func (s *Server) mayStay(local string) bool { return !ofAnswer(local) || s.workspace.Unlinked(local) }

// enterForInput takes the lane for an input file that is not yet in the workspace with the wanted content; done releases it. It fails once
// a call has started, but for a file of an answer, which comes between two calls.
func (s *Server) enterForInput(r *request.Request, local string) (done func(), err error) {
	done = func() {}
	if ofAnswer(local) || !s.ledger.Used() {
		select {
		case s.lane <- struct{}{}:
			done = func() { <-s.lane }
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if full := s.processes.Disk.Full(); full != nil {
		done()
		return nil, request.Refuse(http.StatusInsufficientStorage, toolapi.ErrDiskFull, workspace.Display(local)+" was not put into the workspace: "+full.Error())
	}
	leave, unlock := s.processes.Disk.Writes(), done
	done = func() { leave(); unlock() }
	// In the lane no call that changes files runs, so the result of this check stays true until the file is there.
	switch {
	case s.ledger.Used() && !ofAnswer(local):
		err = request.Refuse(http.StatusConflict, toolapi.ErrFileConflict, fmt.Sprintf(
			"a call has started, and %s is not in the workspace with these bytes any more; nothing was changed", workspace.Display(local)))
	case s.ledger.Highest() != r.Epoch:
		err = ledger.ErrStale
	case !s.ledger.Used() && !s.mcp.Ran():
		err = s.first.Again(s.workspace)
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// inputError distinguishes the faults of the request from those of the sandbox.
func inputError(local string, err error) error {
	switch {
	case errors.Is(err, workspace.ErrPartMissing):
		return request.Refuse(http.StatusConflict, toolapi.ErrPartMissing, err.Error())
	case errors.Is(err, workspace.ErrOtherFile):
		return request.Bad("the parts of %s are not the file of that digest", workspace.Display(local))
	}
	for _, wrong := range []error{
		syscall.ENOTDIR, syscall.EISDIR, fs.ErrExist, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ELOOP, workspace.ErrNotRegular, workspace.ErrLinked,
		// Programs can close their folders, also to this user.
		fs.ErrPermission,
	} {
		if errors.Is(err, wrong) {
			return request.Bad("%s cannot be an input file: %v", workspace.Display(local), err)
		}
	}
	if workspace.Escapes(err) {
		return request.Bad("%s cannot be an input file: %v", workspace.Display(local), err)
	}
	return fmt.Errorf("put %s into the workspace: %w", workspace.Display(local), err)
}
