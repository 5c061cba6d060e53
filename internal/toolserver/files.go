// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// putFile puts one input file into the workspace. Once a call has started, the workspace belongs to the run: a file
// that is not there with exactly these bytes is then refused, because the loop that goes on after a restart would
// otherwise undo what the calls did to their input.
func (s *Server) putFile(r *request, name string) (any, error) {
	content, err := r.body(toolapi.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	local, err := s.workspace.resolve(name)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	if local == "." || strings.HasSuffix(name, "/") || local == ownDir || strings.HasPrefix(local, ownDir+"/") {
		return nil, badRequest("%s cannot be an input file: it is a folder, or in the tool server's own folder %s", display(name), ownDir)
	}
	if err := s.place(r, local, content); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return toolapi.File{Path: local, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}, nil
}

func (s *Server) place(r *request, local string, content []byte) error {
	same, err := s.workspace.holds(local, content)
	if err == nil && same {
		return nil
	}
	if !s.ledger.used() {
		select {
		case s.lane <- struct{}{}:
			defer func() { <-s.lane }()
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
	// In the lane no call that changes files runs, so what is true here stays true until the file is there.
	if s.ledger.used() {
		return &refusal{http.StatusConflict, toolapi.ErrFileConflict, fmt.Sprintf(
			"a call has started, and %s is not in the workspace with these bytes any more; nothing was changed", display(local))}
	}
	if s.ledger.highest() != r.epoch {
		return errStale
	}
	if err := s.workspace.replace(local, bytes.NewReader(content)); err != nil {
		return inputError(local, err)
	}
	return nil
}

// inputError tells the faults of the request from those of the sandbox.
func inputError(local string, err error) error {
	wrong := errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrExist) ||
		errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errNotRegular) || escapes(err)
	if wrong {
		return badRequest("%s cannot be an input file: %v", display(local), err)
	}
	return fmt.Errorf("put %s into the workspace: %w", display(local), err)
}
