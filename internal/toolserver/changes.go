// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/changes"
	"motorcortex.dev/motorcortex/internal/toolserver/harvest"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// givenFolder in the state folder has the files that were put into the workspace before the first call.
	givenFolder = "given"
	// maxChangesBytes holds as many paths as a call of finish names, with every character escaped.
	maxChangesBytes = 256 << 10
)

// getChanges makes a diff of the workspace against the given files. It does not wait for calls: the content of a file is the one at the
// time of reading. One diff is made at a time, so that the memory for it is taken once.
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
		Workspace: s.artifacts.Diffed(), Given: s.given, Holds: s.egress.Holds,
		Own: slices.Concat([]string{workspace.OwnDir, toolapi.ArtifactDir}, s.artifacts.SavedPaths()),
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
		answer.LeftOut = append(answer.LeftOut, toolapi.LeftOut{Path: harvest.CleanPath(left.Path, toolapi.MaxArtifactPath), Why: left.Why})
	}
	answer.Omitted = int32(len(found.LeftOut) - len(answer.LeftOut))
	return answer
}
