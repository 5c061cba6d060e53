// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// maxRequest bounds the body of a request.
const maxRequest = 16 << 20

// chatRequest is what the server reads of a request; all other fields are
// ignored, as they could not change a scripted answer.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []wireMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	N     *int              `json:"n"`
	Tools []json.RawMessage `json:"tools"`
}

type wireMessage struct {
	Role       string      `json:"role"`
	Content    wireContent `json:"content"`
	Name       string      `json:"name"`
	ToolCallID string      `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// wireContent is a message's text, which the API takes as null, as a string or
// as a list of parts. Parts that are not text are passed over.
type wireContent string

func (c *wireContent) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(c))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return errors.New("content has to be a string or a list of parts")
	}
	var all strings.Builder
	for _, part := range parts {
		all.WriteString(part.Text)
	}
	*c = wireContent(all.String())
	return nil
}

// readBody returns the bytes of the request, or the error to answer.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *apiError) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, invalid(http.StatusRequestEntityTooLarge, "", "request_too_large",
			fmt.Sprintf("The request body is larger than %d bytes.", maxRequest))
	case err != nil:
		return nil, invalid(http.StatusBadRequest, "", "", "The request body could not be read.")
	}
	return body, nil
}

// parseRequest checks what a client can get wrong about the protocol.
func parseRequest(body []byte) (*chatRequest, *apiError) {
	var req chatRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, invalid(http.StatusBadRequest, "", "",
			"We could not parse the JSON body of your request: "+err.Error())
	}
	switch {
	case req.Model == "":
		return nil, invalid(http.StatusBadRequest, "", "", "you must provide a model parameter")
	case len(req.Messages) == 0:
		return nil, invalid(http.StatusBadRequest, "messages", "empty_array",
			"Invalid 'messages': empty array. Expected an array with minimum length 1.")
	case req.N != nil && *req.N != 1:
		return nil, invalid(http.StatusBadRequest, "n", "unsupported_value", "Only n = 1 is supported here.")
	case req.StreamOptions != nil && !req.Stream:
		return nil, invalid(http.StatusBadRequest, "stream_options", "",
			"The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if err := checkMessages(req.Messages); err != nil {
		return nil, err
	}
	return &req, nil
}

// checkMessages refuses unknown roles, and tool calls without their tool
// messages or the other way round. A history that was shortened between the two
// is the mistake that this is here to find.
func checkMessages(messages []wireMessage) *apiError {
	open := map[string]bool{}   // Calls that still need a tool message.
	called := map[string]bool{} // All calls of the last assistant message.
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case script.RoleTool:
			if !called[m.ToolCallID] {
				return invalid(http.StatusBadRequest, fmt.Sprintf("messages.[%d].role", i), "",
					"Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
			}
			delete(open, m.ToolCallID)
			continue
		case script.RoleSystem, script.RoleDeveloper, script.RoleUser, script.RoleAssistant:
		default:
			return invalid(http.StatusBadRequest, fmt.Sprintf("messages[%d].role", i), "invalid_value",
				fmt.Sprintf("Invalid value: '%s'.", m.Role))
		}
		if len(open) > 0 {
			return unanswered(i)
		}
		clear(called)
		for _, call := range m.ToolCalls {
			open[call.ID], called[call.ID] = true, true
		}
	}
	if len(open) > 0 {
		return unanswered(len(messages))
	}
	return nil
}

func unanswered(i int) *apiError {
	return invalid(http.StatusBadRequest, fmt.Sprintf("messages.[%d].role", i), "",
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.")
}

// conversation returns the messages as the script package takes them.
func (r *chatRequest) conversation() []script.Message {
	out := make([]script.Message, len(r.Messages))
	for i := range r.Messages {
		m := &r.Messages[i]
		out[i] = script.Message{
			Role: m.Role, Content: string(m.Content), Name: m.Name, ToolCallID: m.ToolCallID,
		}
		for _, c := range m.ToolCalls {
			out[i].ToolCalls = append(out[i].ToolCalls,
				script.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
	}
	return out
}

// aside says which aside the request is, or "" for a turn of the conversation.
func (r *chatRequest) aside() script.Aside {
	switch talk := r.conversation(); {
	case script.AsksForSummary(talk):
		return script.AsideSummary
	case len(r.Tools) > 0:
		return ""
	default:
		return script.AsideOf(talk)
	}
}

// offers reports whether the client offers a tool of that name.
func (r *chatRequest) offers(name string) bool {
	return slices.ContainsFunc(r.Tools, func(raw json.RawMessage) bool {
		var tool struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		return json.Unmarshal(raw, &tool) == nil && tool.Function.Name == name
	})
}

// promptChars is the length of all that a model would have to read.
func (r *chatRequest) promptChars() int {
	chars := 0
	for i := range r.Messages {
		m := &r.Messages[i]
		chars += len(m.Role) + len(m.Content)
		for _, c := range m.ToolCalls {
			chars += len(c.Function.Name) + len(c.Function.Arguments)
		}
	}
	for _, tool := range r.Tools {
		chars += len(tool)
	}
	return chars
}
