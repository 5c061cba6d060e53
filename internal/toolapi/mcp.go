// SPDX-License-Identifier: Apache-2.0

package toolapi

import "encoding/json"

const (
	// MaxMCPServers is how many servers an MCPRequest may have, MaxMCPTools how many tools of each are used.
	MaxMCPServers = 8
	MaxMCPTools   = 32
	// MaxMCPDescription and MaxMCPSchema bound the description of a tool, in bytes.
	MaxMCPDescription = 4 << 10
	MaxMCPSchema      = 16 << 10
	// MaxMCPProblem bounds Omitted and Error, in bytes.
	MaxMCPProblem = 1 << 10
	// MetaIdempotencyKey is the key in _meta of a call under which a server finds Call.IdempotencyKey.
	MetaIdempotencyKey = "motorcortex.dev/idempotencyKey"
)

// MCPRequest sets the MCP servers that the sandbox has from now on. An existing one with the same settings is not changed;
// one that is no longer in the request is ended.
type MCPRequest struct {
	Servers []MCPServer `json:"servers"`
	// TimeoutMs bounds the start of each server, 1 to MaxEgressTimeoutMs.
	TimeoutMs int32 `json:"timeoutMs"`
}

// MCPServer is one server of the Model Context Protocol: one at a URL, reached through the sandbox's egress, or
// a program of the sandbox that speaks on standard input and output.
type MCPServer struct {
	Name    string   `json:"name"`
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	// Tools are those that may be called; no others are listed.
	Tools []string `json:"tools"`
	// Authorization is the value of that header of each request to URL, "" for none. It contains a handle and no credential.
	Authorization string `json:"authorization,omitempty"`
}

// MCPResponse has one entry per server, in the order of the request.
type MCPResponse struct {
	Servers []MCPServerState `json:"servers"`
}

// MCPServerState is the state of a server with its tools.
type MCPServerState struct {
	Name string `json:"name"`
	// Tools are the allowed ones that it has, in the order of their names.
	Tools []MCPTool `json:"tools,omitempty"`
	// Omitted is why allowed tools are not in Tools, "" if none is missing.
	Omitted string `json:"omitted,omitempty"`
	// Error is why it cannot be used, "" if it can. There are no Tools then.
	Error string `json:"error,omitempty"`
}

// MCPTool is a tool as its server describes it. Nothing in it can be trusted.
type MCPTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}
