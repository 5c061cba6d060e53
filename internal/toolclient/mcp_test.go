// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// A hostile tool server's report of MCP servers covers only the requested ones, and is bounded.
func TestMCP(t *testing.T) {
	asked := toolapi.MCPRequest{Servers: []toolapi.MCPServer{
		{Name: "one", Command: []string{"x"}, Tools: []string{"b", "a"}}, {Name: "two", Command: []string{"x"}, Tools: []string{"a"}},
	}, TimeoutMs: 1}
	tool := func(name string) toolapi.MCPTool {
		return toolapi.MCPTool{Name: name, InputSchema: json.RawMessage(`{}`)}
	}
	one := func(tools ...toolapi.MCPTool) toolapi.MCPServerState {
		return toolapi.MCPServerState{Name: "one", Tools: tools}
	}
	two := toolapi.MCPServerState{Name: "two", Error: strings.Repeat("\x1b[2J\n", 10000)}
	large := json.RawMessage(`{"x":"` + strings.Repeat("x", toolapi.MaxMCPSchema) + `"}`)
	for name, tt := range map[string]struct {
		states []toolapi.MCPServerState
		ok     bool
	}{
		"as asked":      {[]toolapi.MCPServerState{one(tool("a"), tool("b")), two}, true},
		"no tools":      {[]toolapi.MCPServerState{one(), two}, true},
		"nothing":       {nil, false},
		"one too few":   {[]toolapi.MCPServerState{one()}, false},
		"another order": {[]toolapi.MCPServerState{two, one()}, false},
		"tools of none": {[]toolapi.MCPServerState{one(), {Name: "two", Error: "x", Tools: []toolapi.MCPTool{tool("a")}}}, false},
		"other tool":    {[]toolapi.MCPServerState{one(tool("c")), two}, false},
		"wrong order":   {[]toolapi.MCPServerState{one(tool("b"), tool("a")), two}, false},
		"twice":         {[]toolapi.MCPServerState{one(tool("a"), tool("a")), two}, false},
		"no schema":     {[]toolapi.MCPServerState{one(toolapi.MCPTool{Name: "a"}), two}, false},
		"a list":        {[]toolapi.MCPServerState{one(toolapi.MCPTool{Name: "a", InputSchema: json.RawMessage(`[]`)}), two}, false},
		"large schema":  {[]toolapi.MCPServerState{one(toolapi.MCPTool{Name: "a", InputSchema: large}), two}, false},
		"large description": {[]toolapi.MCPServerState{one(toolapi.MCPTool{
			Name: "a", Description: strings.Repeat("x", toolapi.MaxMCPDescription+1), InputSchema: json.RawMessage(`{}`),
		}), two}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := fake(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPut || r.URL.Path != toolapi.PathMCP {
					t.Errorf("%s %s", r.Method, r.URL.Path)
				}
				_ = json.NewEncoder(w).Encode(toolapi.MCPResponse{Servers: tt.states})
			})
			got, err := c.MCP(testContext(t), asked)
			if !tt.ok {
				if !errors.Is(err, toolclient.ErrBadAnswer) {
					t.Errorf("%+v %v", got, err)
				}
				return
			}
			if err != nil || len(got.Servers[0].Tools) != len(tt.states[0].Tools) {
				t.Fatalf("%+v %v", got, err)
			}
			if e := got.Servers[1].Error; len(e) > toolapi.MaxMCPProblem+10 || strings.ContainsAny(e, "\x1b\n") {
				t.Errorf("%.100q", e)
			}
		})
	}
	_, c := fake(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) })
	if _, err := c.MCP(testContext(t), asked); !errors.Is(err, toolclient.ErrBadAnswer) {
		t.Error(err)
	}
}
