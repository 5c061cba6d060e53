// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxMCPAnswer fits the largest MCPResponse.
const maxMCPAnswer = toolapi.MaxMCPServers * (toolapi.MaxMCPTools*(2*toolapi.MaxMCPDescription+toolapi.MaxMCPSchema+512) + 4*toolapi.MaxMCPProblem)

// MCP sets the MCP servers that the sandbox has from now on, and returns one state per server in the order of the
// request. A state has the tools that the request allows, in the order of their names, each with a schema that is a JSON object. The content
// must not be trusted. A server that cannot be used is no error. Repeating it is harmless.
func (c *Client) MCP(ctx context.Context, req toolapi.MCPRequest) (toolapi.MCPResponse, error) {
	var resp toolapi.MCPResponse
	// Servers that are ended, or do not read, take additional time.
	timeout := cancelTimeout + time.Duration(req.TimeoutMs)*time.Millisecond
	e := exchange{method: http.MethodPut, path: toolapi.PathMCP, payload: req, timeout: timeout, into: &resp, most: maxMCPAnswer}
	if err := c.request(ctx, e); err != nil {
		return toolapi.MCPResponse{}, err
	}
	if len(resp.Servers) != len(req.Servers) {
		return toolapi.MCPResponse{}, fmt.Errorf("%w: %d states for %d MCP servers", ErrBadAnswer, len(resp.Servers), len(req.Servers))
	}
	for i := range resp.Servers {
		if err := checkState(&resp.Servers[i], req.Servers[i]); err != nil {
			return toolapi.MCPResponse{}, fmt.Errorf("%w: MCP server %s: %w", ErrBadAnswer, req.Servers[i].Name, err)
		}
	}
	return resp, nil
}

// checkState returns an error if a server's state does not follow the format.
func checkState(state *toolapi.MCPServerState, asked toolapi.MCPServer) error {
	if state.Name != asked.Name {
		return fmt.Errorf("the state is of %q", plain(state.Name, 64))
	}
	state.Error, state.Omitted = plain(state.Error, toolapi.MaxMCPProblem), plain(state.Omitted, toolapi.MaxMCPProblem)
	if state.Error != "" && len(state.Tools) > 0 {
		return fmt.Errorf("%d tools of a server that cannot be used", len(state.Tools))
	}
	last := ""
	for i := range state.Tools {
		t := &state.Tools[i]
		if !slices.Contains(asked.Tools, t.Name) || t.Name <= last {
			return fmt.Errorf("a tool %q", plain(t.Name, 64))
		}
		last = t.Name
		if len(t.Description) > toolapi.MaxMCPDescription || len(t.InputSchema) > toolapi.MaxMCPSchema {
			return fmt.Errorf("the tool %s is described in %d bytes and a schema of %d", t.Name, len(t.Description), len(t.InputSchema))
		}
		t.Description = readable(t.Description)
		if !bytes.HasPrefix(t.InputSchema, []byte("{")) || !json.Valid(t.InputSchema) {
			return fmt.Errorf("the schema of the tool %s is no object", t.Name)
		}
	}
	return nil
}

// readable returns a text without control characters except line ends and tabs.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
