// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/changes"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// givenFolder in the state folder has what was put into the workspace before the first call.
	givenFolder = "given"
	// maxChangesBytes holds as many paths as a call of finish names, with every character escaped.
	maxChangesBytes = 256 << 10
)

// getChanges makes a diff of the workspace against what was given. It does not wait for calls: what is in a file is what is there when
// it is read. One is made at a time, so that the memory for it is taken once.
func (s *Server) getChanges(r *request.Request) (any, error) {
	content, err := r.Content(maxChangesBytes)
	if err != nil {
		return nil, err
	}
	var asked toolapi.ChangesRequest
	if err := tool.DecodeStrictly(content, &asked); err != nil {
		return nil, request.Unreadable("what is asked about changes", err)
	}
	if asked.TimeoutMs < 1 || asked.TimeoutMs > toolapi.MaxChangesTimeoutMs || len(asked.Files) > toolapi.MaxFinishFiles {
		return nil, request.Bad("timeoutMs may be 1 to %d, and files may be %d", toolapi.MaxChangesTimeoutMs, toolapi.MaxFinishFiles)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(asked.TimeoutMs)*time.Millisecond)
	defer cancel()
	select {
	case s.comparing <- struct{}{}:
		defer func() { <-s.comparing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("make the diff of the workspace: another one is being made: %w", ctx.Err())
	}
	req := changes.Request{
		Workspace: diffedFolder{s.artifacts}, Given: s.given, Holds: s.egress.Holds,
		Own: slices.Concat([]string{workspace.OwnDir, toolapi.ArtifactDir}, s.artifacts.savedPaths()),
	}
	for _, name := range asked.Files {
		if local, err := s.workspace.Resolve(name); err == nil {
			req.Named = append(req.Named, local)
		}
	}
	return s.describeChanges(changes.Collect(ctx, req)), nil
}

func (s *Server) describeChanges(found changes.Result) toolapi.Changes {
	answer := toolapi.Changes{Diff: found.Diff, Provenance: toolapi.ProvenanceInternal}
	if s.taint.Marked() {
		answer.Provenance = toolapi.ProvenanceWeb
	}
	for _, left := range found.LeftOut[:min(len(found.LeftOut), toolapi.MaxLeftOut)] {
		answer.LeftOut = append(answer.LeftOut, toolapi.LeftOut{Path: cleanPath(left.Path, toolapi.MaxArtifactPath), Why: left.Why})
	}
	answer.Omitted = int32(len(found.LeftOut) - len(answer.LeftOut))
	return answer
}

// savedPaths are the files that were saved by name.
func (a *artifacts) savedPaths() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.saved)
}

// diffedFolder is the workspace as its changes are looked for.
type diffedFolder struct{ a *artifacts }

// Lstat implements changes.Workspace.
func (d diffedFolder) Lstat(path string) (fs.FileInfo, error) { return d.a.w.Root.Lstat(path) }

// ReadFolder implements changes.Workspace.
func (d diffedFolder) ReadFolder(path string) ([]fs.DirEntry, bool, error) {
	return d.a.w.ReadFolder(path)
}

// Open implements changes.Workspace. Where a folder is, or the way to the path ends, there is no such file.
func (d diffedFolder) Open(path string) (io.ReadCloser, fs.FileInfo, error) {
	file, info, err := d.a.open(path)
	switch {
	case err == nil:
		return file, info, nil
	case errors.Is(err, errLinked):
		err = changes.ErrLink
	case errors.Is(err, workspace.ErrNotRegular):
		err = changes.ErrNotRegular
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		err = fs.ErrNotExist
	}
	return nil, nil, err
}
