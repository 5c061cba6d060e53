// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/harvest"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// makeRepository makes the repository for a manager that knows of a tool that can use it. It goes on when its request ends: a client that
// asks again must find the repository complete.
func (s *Server) makeRepository(r *request.Request) (any, error) {
	if !s.enlist() {
		return nil, tool.ErrStopped
	}
	defer s.running.Done()
	select {
	case s.lane <- struct{}{}:
		defer func() { <-s.lane }()
	case <-r.Fenced:
		return nil, ledger.ErrStale
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if s.ledger.Highest() != r.Epoch {
		return nil, ledger.ErrStale
	}
	if s.ledger.Used() || s.mcp.Ran() {
		// By now the workspace may have more than the given files.
		return toolapi.Repository{Made: s.first.IsMade()}, nil
	}
	ctx, cancel := context.WithTimeout(s.base, harvest.FirstCommitTimeout)
	defer cancel()
	ctx, leave := s.processes.Disk.Enter(ctx)
	defer leave()
	made := s.first.Make(ctx, s.processes, s.given.Files())
	if cause := context.Cause(s.base); cause != nil {
		return nil, cause
	}
	return toolapi.Repository{Made: made}, nil
}
