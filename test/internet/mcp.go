// SPDX-License-Identifier: Apache-2.0

//go:build linux

package internet

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools of an MCP server. One reads and one writes.
const (
	MCPList   = "list_issues"
	MCPCreate = "create_issue"
)

// MCP is a server of the Model Context Protocol over HTTP, as a host has it: an issue tracker.
type MCP struct {
	key    string
	server *mcp.Server
	serve  http.Handler

	mu    sync.Mutex
	calls []string
}

// repository is what both tools are called with.
type repository struct {
	Owner string `json:"owner" jsonschema:"whose repository it is"`
	Repo  string `json:"repo" jsonschema:"its name"`
}

// NewMCP makes a server that answers whoever has the key as a bearer token.
func NewMCP(key string) *MCP {
	m := &MCP{key: key, server: mcp.NewServer(&mcp.Implementation{Name: "issues", Version: "1"}, nil)}
	// A host has a name of its own, wherever it listens.
	named := &mcp.StreamableHTTPOptions{DisableLocalhostProtection: true}
	m.serve = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m.server }, named)
	m.Describe("Lists the open issues of a repository.")
	m.offer(MCPCreate, "Creates an issue.", "created in %s/%s")
	return m
}

// Describe has the server describe MCPList so from now on, to whoever asks for its tools.
func (m *MCP) Describe(text string) {
	m.offer(MCPList, text, "#1 of %s/%s: The door does not close")
}

// offer takes a tool in, in place of the one that had its name.
func (m *MCP) offer(name, description, answer string) {
	mcp.AddTool(m.server, &mcp.Tool{Name: name, Description: description},
		func(_ context.Context, _ *mcp.CallToolRequest, of repository) (*mcp.CallToolResult, any, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.calls = append(m.calls, name)
			text := fmt.Sprintf(answer, of.Owner, of.Repo)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
}

// Calls returns the names of the tools that were called so far, in order.
func (m *MCP) Calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// ServeHTTP answers one request.
func (m *MCP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get("Authorization")
	if subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+m.key)) != 1 {
		http.Error(w, "no key, no issues", http.StatusUnauthorized)
		return
	}
	m.serve.ServeHTTP(w, r)
}
