// SPDX-License-Identifier: Apache-2.0

package toolapi

// PathHalt ends all that runs in the sandbox: calls with CodeCancelled, background commands, programs of MCP servers. Nothing
// starts afterwards until the next call, or the next MCPRequest.
const PathHalt = "/v1/halt"

// HaltResponse says what the network namespace of the sandbox has when everything in it has ended: the connections that are
// neither the manager's nor the egress proxy's, at most MaxConnections of them. The kernel says so, not a program.
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
	// Local and Remote are of the form IP:port, "" where the kernel tells none.
	Local  string `json:"local,omitempty"`
	Remote string `json:"remote,omitempty"`
	// State is that of TCP in words.
	State string `json:"state,omitempty"`
}
