// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// stopProgramsTimeout bounds the end of the programs in the background. The client waits a little longer.
const stopProgramsTimeout = 10 * time.Second

// getBackground lists the programs that calls left in the background.
func (s *Server) getBackground(*request.Request) (any, error) {
	return toolapi.BackgroundResponse{Programs: s.ledger.Programs()}, nil
}

// endBackground ends them, and returns when their ends are recorded.
func (s *Server) endBackground(r *request.Request) (any, error) {
	content, err := r.Content(callOverhead)
	if err != nil {
		return nil, err
	}
	var req toolapi.BackgroundRequest
	if err := tool.DecodeStrictly(content, &req); err != nil {
		return nil, request.Unreadable("the request", err)
	}
	if req.Reason == "" || len(req.Reason) > toolapi.MaxStopReason {
		return nil, request.Bad("the reason must have 1 to %d bytes", toolapi.MaxStopReason)
	}
	ctx, cancel := context.WithTimeout(r.Context(), stopProgramsTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		if req.MCP {
			ended <- s.mcp.EndPrograms(ctx, req.Reason)
			return
		}
		ended <- nil
	}()
	if err := errors.Join(s.processes.StopBackground(ctx, req.Reason), <-ended); err != nil {
		return nil, fmt.Errorf("end what runs in the background: %w", err)
	}
	return s.getBackground(r)
}
