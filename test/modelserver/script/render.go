// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// maxRendered bounds what one template can produce; a loop in a script should
// end in an error and not in a full memory.
const maxRendered = 4 << 20

// data is what a template sees as dot.
type data struct {
	// Turn is the number of answers that were given before this one.
	Turn int
	// Messages is the conversation so far.
	Messages []Message
}

// Task returns the first user message, which is where a test puts values for the script.
func (d data) Task() string {
	for _, m := range d.Messages {
		if m.Role == RoleUser {
			return m.Content
		}
	}
	return ""
}

// System returns all system messages.
func (d data) System() string { return systemText(d.Messages) }

// Last returns the last tool message's content, or nothing before the first tool ran.
func (d data) Last() string {
	output, _, _ := lastTool(d.Messages)
	return output.Content
}

// LastJSON returns the JSON value in the last tool message, or nil.
func (d data) LastJSON() any { return jsonIn(d.Last()) }

// Tool returns the latest output for a call id or, if no call has that id, for a tool's name.
func (d data) Tool(name string) (string, error) {
	byName := ""
	found := false
	for i, m := range slices.Backward(d.Messages) {

		if m.Role != RoleTool {
			continue
		}
		if m.ToolCallID == name {
			return m.Content, nil
		}
		if !found && toolName(d.Messages, i) == name {
			byName, found = m.Content, true
		}
	}
	if !found {
		return "", fmt.Errorf("no output of a tool or call %q in the conversation", name)
	}
	return byName, nil
}

var errTooLong = errors.New("the result is too long")

// boundedText collects text and refuses to grow without end.
type boundedText struct{ text strings.Builder }

func (b *boundedText) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxRendered {
		return 0, errTooLong
	}
	return b.text.Write(p)
}

func render(t *template.Template, d data) (string, error) {
	var out boundedText
	if err := t.Execute(&out, d); err != nil {
		return "", err
	}
	return out.text.String(), nil
}

// renderValue renders every template in a compiled arguments tree.
func renderValue(v any, d data) (any, error) {
	switch v := v.(type) {
	case *template.Template:
		return render(v, d)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			rendered, err := renderValue(item, d)
			if err != nil {
				return nil, err
			}
			out[key] = rendered
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			rendered, err := renderValue(item, d)
			if err != nil {
				return nil, err
			}
			out[i] = rendered
		}
		return out, nil
	}
	return v, nil
}
