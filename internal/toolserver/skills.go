// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"fmt"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// listSkills ends all that runs, and returns the folders of the workspace that may be skills. Nothing starts afterwards until the next
// call: the contents of the files are read later, on request, and must be those that were listed. A request with Look ends nothing.
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
	list := s.artifacts.Skills(ctx, asked.Own)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list the skills: %w", err)
	}
	return list, nil
}

// skillsTimeout bounds the making of the list, including the end of running programs. The client waits a little longer.
const skillsTimeout = 20 * time.Second

// maxAskedBytes is the size of as many paths as a skill has files.
const maxAskedBytes = 256 << 10

func askedSkills(r *request.Request) (asked toolapi.ListSkills, err error) {
	content, err := r.Content(maxAskedBytes)
	if err != nil || len(content) == 0 {
		return asked, err
	}
	if err := tool.DecodeStrictly(content, &asked); err != nil {
		return asked, request.Unreadable("what is asked about skills", err)
	}
	if len(asked.Own) > toolapi.MaxSkillFiles {
		return asked, request.Bad("a skill has at most %d places of its own", toolapi.MaxSkillFiles)
	}
	return asked, nil
}
