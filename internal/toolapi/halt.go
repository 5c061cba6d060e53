// SPDX-License-Identifier: Apache-2.0

package toolapi

// PathHalt ends everything that runs in the sandbox: calls with CodeCancelled, background commands, programs of MCP servers. Nothing
// starts afterwards until the next call, or the next MCPRequest.
const PathHalt = "/v1/halt"

// HaltResponse has the connections in the network namespace of the sandbox after everything in it has ended. It omits
// those of the manager and the egress proxy, and has at most MaxConnections. The list comes from the kernel, not from a program.
type HaltResponse struct {
	Connections []Connection `json:"connections,omitempty"`
	// All is how many there are.
	All int32 `json:"all,omitempty"`
}

// MaxConnections is how many connections a HaltResponse names.
const MaxConnections = 16

// Connection is for people.
type Connection struct {
	Network string `json:"network"`
	// Local and Remote are of the form IP:port, "" if the kernel reports none.
	Local  string `json:"local,omitempty"`
	Remote string `json:"remote,omitempty"`
	// State is that of TCP in words.
	State string `json:"state,omitempty"`
}
