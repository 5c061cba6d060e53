// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"fmt"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
)

// listSkills ends all that runs, and says which folders of the workspace may be skills. Nothing starts afterwards until the next
// call: what is in the files is read when it is asked for, and must be what was listed. A look ends nothing.
func (s *Server) listSkills(r *request.Request) (any, error) {
	asked, err := askedSkills(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), skillsTimeout)
	defer cancel()
	select {
	case s.lane <- struct{}{}:
		defer func() { <-s.lane }()
	case <-r.Fenced:
		return nil, ledger.ErrStale
	case <-ctx.Done():
		return nil, fmt.Errorf("list the skills: a call still runs: %w", ctx.Err())
	}
	if s.ledger.Highest() != r.Epoch {
		return nil, ledger.ErrStale
	}
	if !asked.Look {
		if err := s.freeze(toolapi.StoppedFinished); err != nil {
			return nil, fmt.Errorf("list the skills: %w", err)
		}
	}
	walk := skillSurvey{a: s.artifacts, seen: map[string]bool{}, own: asked.Own}
	walk.all(ctx)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list the skills: %w", err)
	}
	return walk.list, nil
}
