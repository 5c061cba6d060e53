// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/mcp"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// putMCP replaces the set of servers, and returns what they offer.
func (s *Server) putMCP(r *request.Request) (any, error) {
	content, err := r.Content(mcp.MaxRequestBytes)
	if err != nil {
		return nil, err
	}
	var req toolapi.MCPRequest
	if err := tool.DecodeStrictly(content, &req); err != nil {
		return nil, request.Unreadable("the list of MCP servers", err)
	}
	if err := mcp.Check(req); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.base, func() { cancel(tool.ErrStopped) })()
	go func() {
		select {
		case <-r.Fenced:
			cancel(ledger.ErrStale)
		case <-ctx.Done():
		}
	}()
	resp, err := s.mcp.Set(ctx, req, func() error {
		if !s.thaw(r.Epoch) {
			return ledger.ErrStale
		}
		return nil
	})
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause // The states are those of servers that were interrupted.
	}
	return resp, err
}

// mcpTool returns the tool of an MCP server by its full name. Servers come and go, so there is one for each name of the kind.
func (s *Server) mcpTool(full string) (tool.Tool, bool) {
	server, name, ok := toolapi.ParseMCPToolName(full)
	if !ok {
		return tool.Tool{}, false
	}
	return tool.Tool{Alone: true, Limit: toolapi.MaxOutputBytes, Run: func(ctx context.Context, j tool.Job) toolapi.Result {
		return s.mcp.Call(ctx, j, server, name)
	}}, true
}
