// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"fmt"

	openaigo "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// requestParams maps a request. Only model, messages and tools are sent: every endpoint knows these, and many refuse a
// request with a field that they do not know.
func requestParams(model string, r chat.Request) (openaigo.ChatCompletionNewParams, error) {
	p := openaigo.ChatCompletionNewParams{Model: model}
	for _, m := range r.Messages {
		msg, err := messageParam(m)
		if err != nil {
			return p, err
		}
		p.Messages = append(p.Messages, msg)
	}
	for _, t := range r.Tools {
		// Each keyword stays as it is written, so that the model sees the properties in their own order.
		var keywords map[string]json.RawMessage
		if err := json.Unmarshal(t.Parameters, &keywords); err != nil {
			return p, fmt.Errorf("schema of tool %s: %w", t.Name, err)
		}
		parameters := shared.FunctionParameters{}
		for name, value := range keywords {
			parameters[name] = value
		}
		p.Tools = append(p.Tools, openaigo.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name:        t.Name,
			Description: openaigo.String(t.Description),
			Parameters:  parameters,
		}))
	}
	return p, nil
}

func messageParam(m chat.Message) (openaigo.ChatCompletionMessageParamUnion, error) {
	switch m.Role {
	case chat.RoleSystem:
		return openaigo.SystemMessage(m.Content), nil
	case chat.RoleUser:
		return openaigo.UserMessage(m.Content), nil
	case chat.RoleTool:
		return openaigo.ToolMessage(m.Content, m.ToolCallID), nil
	case chat.RoleAssistant:
		return assistantParam(m), nil
	default:
		return openaigo.ChatCompletionMessageParamUnion{}, fmt.Errorf("message of unknown role %q", m.Role)
	}
}

func assistantParam(m chat.Message) openaigo.ChatCompletionMessageParamUnion {
	var a openaigo.ChatCompletionAssistantMessageParam
	// Beside tool calls, empty content is omitted: some endpoints refuse it, and none needs it.
	if m.Content != "" || len(m.Calls) == 0 {
		a.Content.OfString = openaigo.String(m.Content)
	}
	for _, c := range m.Calls {
		a.ToolCalls = append(a.ToolCalls, openaigo.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openaigo.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ModelID,
				Function: openaigo.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name:      c.Tool,
					Arguments: c.Arguments,
				},
			},
		})
	}
	return openaigo.ChatCompletionMessageParamUnion{OfAssistant: &a}
}

// answerLimits bound an answer. The loop uses few of its values: a text, and calls whose arguments are texts too. An
// empty choice has three bytes, and takes a kilobyte and a half of memory when it is read.
var answerLimits = jsonbound.Limits{Depth: 64, Values: 4096}

// parseAnswer maps the body of an answer. A refusal is text like any other: the model said it instead of doing the
// task. An answer without choices is an error even with status 200, which is how some gateways report errors.
func (c *Client) parseAnswer(body []byte) (chat.Answer, error) {
	if err := jsonbound.Check(body, answerLimits); err != nil {
		return chat.Answer{}, malformed("answered what is not read: " + err.Error())
	}
	var completion openaigo.ChatCompletion
	if err := json.Unmarshal(body, &completion); err != nil {
		return chat.Answer{}, malformed("answered what is not JSON: " + c.detail(err.Error()))
	}
	if len(completion.Choices) == 0 {
		what := "answered without any choices"
		if r := errorBody(body); r.text != "" {
			what += ": " + c.detail(r.text)
		}
		return chat.Answer{}, malformed(what)
	}
	choice := completion.Choices[0]
	a := chat.Answer{
		Model:   completion.Model,
		Content: choice.Message.Content,
		Usage: turn.Usage{
			PromptTokens:     completion.Usage.PromptTokens,
			CompletionTokens: completion.Usage.CompletionTokens,
			CachedTokens:     completion.Usage.PromptTokensDetails.CachedTokens,
		},
		Truncated: choice.FinishReason == "length",
	}
	if a.Model == "" {
		a.Model = c.endpoint.Model
	}
	if a.Content == "" {
		a.Content = choice.Message.Refusal
	}
	for _, call := range choice.Message.ToolCalls {
		// The loop offers functions only. A call of another kind has no name here, and the loop refuses it.
		a.Calls = append(a.Calls, turn.Call{
			ModelID:   call.ID,
			Tool:      call.Function.Name,
			Arguments: call.Function.Arguments,
		})
	}
	return a, nil
}
