// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// BytesPerToken is the approximate size of a token. It applies until the endpoint has counted.
const BytesPerToken = 4

// Tokens estimates how many tokens a request has.
func Tokens(req Request) int64 {
	return (Size(req.Messages) + SizeOfTools(req.Tools)) / BytesPerToken
}

// Estimated estimates the usage of a request and its answer, for an endpoint that does not report it.
func Estimated(req Request, a Answer) turn.Usage {
	size := len(a.Content)
	for _, c := range a.Calls {
		size += len(c.Tool) + len(c.Arguments)
	}
	return turn.Usage{PromptTokens: Tokens(req), CompletionTokens: int64(size) / BytesPerToken, Estimated: true}
}

// Size is the size of messages in bytes.
func Size(msgs []Message) int64 {
	size := 0
	for _, m := range msgs {
		size += len(m.Content)
		for _, c := range m.Calls {
			size += len(c.Tool) + len(c.Arguments)
		}
	}
	return int64(size)
}

// SizeOfTools is the size of the definitions of tools in bytes.
func SizeOfTools(tools []catalog.ToolDefinition) int64 {
	size := 0
	for _, t := range tools {
		size += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return int64(size)
}
