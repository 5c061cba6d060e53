// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// completion is the answer to a request that does not stream.
type completion struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Created           int64    `json:"created"`
	Model             string   `json:"model"`
	Choices           []choice `json:"choices"`
	Usage             usage    `json:"usage"`
	SystemFingerprint string   `json:"system_fingerprint"`
}

type choice struct {
	Index        int       `json:"index"`
	Message      message   `json:"message"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason string    `json:"finish_reason"`
}

type message struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	// Index is only there in a stream.
	Index    *int     `json:"index,omitempty"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// chunk is one event of a stream.
type chunk struct {
	ID                string        `json:"id"`
	Object            string        `json:"object"`
	Created           int64         `json:"created"`
	Model             string        `json:"model"`
	SystemFingerprint string        `json:"system_fingerprint"`
	Choices           []chunkChoice `json:"choices"`
	// Usage is absent, null or a value: all three occur.
	Usage json.RawMessage `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int       `json:"index"`
	Delta        delta     `json:"delta"`
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

type delta struct {
	Role string `json:"role,omitempty"`
	// Content is absent, null or a string.
	Content   json.RawMessage `json:"content,omitempty"`
	ToolCalls []toolCall      `json:"tool_calls,omitempty"`
}

const fingerprint = "fp_scripted"

// said is all that an answer's body is made of.
type said struct {
	id, model string
	play      *script.Play
	usage     usage
	// includeUsage asks a stream for its usage chunk.
	includeUsage bool
}

// body returns the completion as JSON; without choices if the fault wants that.
func (s said) body(withChoices bool) []byte {
	out := completion{
		ID: s.id, Object: "chat.completion", Model: s.model,
		Choices: []choice{}, Usage: s.usage, SystemFingerprint: fingerprint,
	}
	if withChoices {
		m := message{Role: script.RoleAssistant, Content: &s.play.Content}
		for _, call := range s.play.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, toolCall{
				ID: call.ID, Type: "function", Function: function{Name: call.Name, Arguments: call.Arguments},
			})
		}
		if s.play.Content == "" && len(m.ToolCalls) > 0 {
			m.Content = nil
		}
		out.Choices = append(out.Choices, choice{Message: m, FinishReason: s.play.FinishReason})
	}
	return mustJSON(out)
}

// chunks returns the stream's JSON texts, without [DONE].
func (s said) chunks(withChoices bool) [][]byte {
	var out [][]byte
	add := func(choices []chunkChoice, usage json.RawMessage) {
		out = append(out, mustJSON(chunk{
			ID: s.id, Object: "chat.completion.chunk", Model: s.model,
			SystemFingerprint: fingerprint, Choices: choices, Usage: usage,
		}))
	}
	var noUsage json.RawMessage
	if s.includeUsage {
		noUsage = json.RawMessage("null")
	}
	if withChoices {
		for _, c := range s.deltas() {
			add([]chunkChoice{c}, noUsage)
		}
	}
	if s.includeUsage {
		add([]chunkChoice{}, mustJSON(s.usage))
	} else if !withChoices {
		add([]chunkChoice{}, nil)
	}
	return out
}

// deltas cuts the message into what the chunks carry: the role, pieces of text,
// every call's head and then pieces of its arguments, and the finish reason.
func (s said) deltas() []chunkChoice {
	first := delta{Role: script.RoleAssistant, Content: json.RawMessage(`""`)}
	if s.play.Content == "" && len(s.play.ToolCalls) > 0 {
		first.Content = json.RawMessage("null")
	}
	out := []chunkChoice{{Delta: first}}
	for _, piece := range pieces(s.play.Content) {
		out = append(out, chunkChoice{Delta: delta{Content: mustJSON(piece)}})
	}
	for n, call := range s.play.ToolCalls {
		head := toolCall{Index: &n, ID: call.ID, Type: "function", Function: function{Name: call.Name}}
		out = append(out, chunkChoice{Delta: delta{ToolCalls: []toolCall{head}}})
		for _, piece := range pieces(call.Arguments) {
			more := toolCall{Index: &n, Function: function{Arguments: piece}}
			out = append(out, chunkChoice{Delta: delta{ToolCalls: []toolCall{more}}})
		}
	}
	return append(out, chunkChoice{FinishReason: &s.play.FinishReason})
}

// pieces cuts text into parts of whole characters, at most about 64 of them.
func pieces(text string) []string {
	size := max(24, len(text)/64)
	var out []string
	for len(text) > size {
		cut := size
		for cut > 1 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		out = append(out, text[:cut])
		text = text[cut:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// mustJSON marshals the types of this file, which cannot fail. Text stays
// readable: <, > and & are not escaped.
func mustJSON(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
