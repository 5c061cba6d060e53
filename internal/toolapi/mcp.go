// SPDX-License-Identifier: Apache-2.0

package toolapi

import "encoding/json"

const (
	// MaxMCPServers is how many servers an MCPRequest may have, MaxMCPTools how many tools of each are used.
	MaxMCPServers = 8
	MaxMCPTools   = 32
	// MaxMCPDescription and MaxMCPSchema bound what is told of a tool, in bytes.
	MaxMCPDescription = 4 << 10
	MaxMCPSchema      = 16 << 10
	// MaxMCPProblem bounds Omitted and Error, in bytes.
	MaxMCPProblem = 1 << 10
	// MetaIdempotencyKey is where in _meta of a call a server finds Call.IdempotencyKey.
	MetaIdempotencyKey = "motorcortex.dev/idempotencyKey"
)

// MCPRequest says which MCP servers the sandbox has from now on. One that is there with the same words stays as it is;
// one that is not named any more is ended.
type MCPRequest struct {
	Servers []MCPServer `json:"servers"`
	// TimeoutMs bounds the start of each server, 1 to MaxEgressTimeoutMs.
	TimeoutMs int32 `json:"timeoutMs"`
}

// MCPServer is one server of the Model Context Protocol: one at a URL, reached through the way out that the sandbox has, or
// a program of the sandbox that speaks on standard input and output.
type MCPServer struct {
	Name    string   `json:"name"`
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	// Tools are those that may be called; no others are listed.
	Tools []string `json:"tools"`
	// Authorization is the value of that header of each request to URL, "" for none. It holds a handle and no credential.
	Authorization string `json:"authorization,omitempty"`
}

// MCPResponse has one entry per server, in the order of the request.
type MCPResponse struct {
	Servers []MCPServerState `json:"servers"`
}

// MCPServerState is what a server offers.
type MCPServerState struct {
	Name string `json:"name"`
	// Tools are the allowed ones that it has, in the order of their names.
	Tools []MCPTool `json:"tools,omitempty"`
	// Omitted says of allowed tools why they are not in Tools, "" if none is missing.
	Omitted string `json:"omitted,omitempty"`
	// Error says why it cannot be used, "" if it can. There are no Tools then.
	Error string `json:"error,omitempty"`
}

// MCPTool is a tool as its server describes it. Nothing of it is to be believed.
type MCPTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}
