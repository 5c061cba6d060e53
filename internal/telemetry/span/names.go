// SPDX-License-Identifier: Apache-2.0

package span

// Names of the semantic conventions of OpenTelemetry. Those for generative AI are in development and change: no other file has one of them.
const (
	attrServiceName    = "service.name"
	attrServiceVersion = "service.version"
	attrNamespace      = "k8s.namespace.name"
	attrErrorType      = "error.type"
	attrConversation   = "gen_ai.conversation.id"
	attrOperation      = "gen_ai.operation.name"
	attrProvider       = "gen_ai.provider.name"
	attrAgentName      = "gen_ai.agent.name"
	attrRequestModel   = "gen_ai.request.model"
	attrResponseModel  = "gen_ai.response.model"
	attrInputTokens    = "gen_ai.usage.input_tokens"
	attrOutputTokens   = "gen_ai.usage.output_tokens"
	attrCachedTokens   = "gen_ai.usage.cache_read.input_tokens"
	attrToolName       = "gen_ai.tool.name"
	attrToolCallID     = "gen_ai.tool.call.id"
	// Content, which is there only where the operator asked for it.
	attrToolArguments  = "gen_ai.tool.call.arguments"
	attrToolResult     = "gen_ai.tool.call.result"
	attrOutputMessages = "gen_ai.output.messages"

	operationAgent = "invoke_agent"
	operationChat  = "chat"
	operationTool  = "execute_tool"
	// provider is the one whose protocol the endpoint speaks: who is behind it is not known.
	provider = "openai"
)

// outputMessage is an entry of gen_ai.output.messages.
type outputMessage struct {
	Role  string        `json:"role"`
	Parts []messagePart `json:"parts"`
}

type messagePart struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

// Names of this project's own.
const (
	attrRun     = "motorcortex.run.name"
	attrAttempt = "motorcortex.attempt"
	attrStep    = "motorcortex.step"
	serviceName = "motorcortex"
	scopeName   = "motorcortex.dev/motorcortex/internal/telemetry/span"
)
