// SPDX-License-Identifier: Apache-2.0

// Package chat is what the loop and a model's client exchange: requests, answers, their sizes and digests, and the errors of a client.
package chat

import (
	"context"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Model is a chat model.
type Model interface {
	// Complete asks for the next turn. It retries failures that pass within seconds. The error is an *Outage if the model is not available
	// now, a *TooLong if the request does not fit into its window, another *outcome.Failure, or the context's.
	Complete(ctx context.Context, r Request) (Answer, error)
}

// Request is one request to a model.
type Request struct {
	Messages []Message
	Tools    []catalog.ToolDefinition
}

// Message is one message of the conversation.
type Message struct {
	Role    Role
	Content string
	// Calls are the tool calls of an assistant message.
	Calls []turn.Call
	// ToolCallID is the ModelID of the call that a tool message answers.
	ToolCallID string
}

// Role is who speaks in a Message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Answer is a model's answer.
type Answer struct {
	Model   string
	Content string
	// Calls have no ID yet; the loop assigns it.
	Calls []turn.Call
	Usage turn.Usage
	// Failed is the cost of failed tries of the same request, as far as the endpoint reports it.
	Failed turn.Usage
	// Truncated is true if the model stopped because its output limit was reached.
	Truncated bool
}
