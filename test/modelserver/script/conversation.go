// SPDX-License-Identifier: Apache-2.0

package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Message is one message of a conversation, with its content as plain text.
type Message struct {
	Role       string
	Content    string
	Name       string
	ToolCallID string
	ToolCalls  []Call
}

// Call is a tool call of an assistant message. Arguments are text because a
// model may send what is not JSON.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Roles of a message that have a meaning here.
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

func instructs(m Message) bool { return m.Role == RoleSystem || m.Role == RoleDeveloper }

// current cuts a conversation to the part that turns are counted in: it begins
// where a system message was last followed directly by a user message. A lone
// user or system message in the middle (a nudge, a warning) is not a beginning,
// or every reminder would send the script back to its first turn.
func current(messages []Message) []Message {
	for i := len(messages) - 2; i > 0; i-- {
		if instructs(messages[i]) && messages[i+1].Role == RoleUser {
			return messages[i:]
		}
	}
	return messages
}

// moving is what a system prompt says of the time that is left, which grows while a client waits.
var moving = regexp.MustCompile(`(?m)^.*\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ.*$`)

// environment is what a system prompt says of the sandbox, which may be known from the second request on, up to the next heading.
var environment = regexp.MustCompile(`(?ms)^# Environment$.*?^(# )|^- If git log shows a commit [^\n]*\n`)

// left is what a client says at the end of a message: which calls were approved, and what the model may still use.
var left = regexp.MustCompile(`(?:\n\[(?:left: |your next answer is the last one|the person approved this call)[^\n]*\])+$`)

// withoutLeft returns the conversation without that: outputs of tools are as the tools gave them.
func withoutLeft(talk []Message) []Message {
	talk = slices.Clone(talk)
	for i := range talk {
		talk[i].Content = left.ReplaceAllString(talk[i].Content, "")
	}
	return talk
}

// conversationKey names a conversation by how it began. Only the first system
// and the first user message count, because clients append to the end.
func conversationKey(talk []Message) string {
	var first struct{ System, User *string }
	for i := range talk {
		switch m := &talk[i]; {
		case instructs(*m) && first.System == nil:
			system := environment.ReplaceAllString(moving.ReplaceAllString(m.Content, ""), "${1}")
			first.System = &system
		case m.Role == RoleUser && first.User == nil:
			first.User = &m.Content
		}
	}
	text, err := json.Marshal(first)
	if err != nil { // Strings always marshal.
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// lastTool returns the last tool message of talk and the name of the tool that it
// answers.
func lastTool(talk []Message) (output Message, tool string, ok bool) {
	for i, t := range slices.Backward(talk) {
		if t.Role == RoleTool {
			return t, toolName(talk, i), true
		}
	}
	return Message{}, "", false
}

// toolName resolves the tool message at index i by its call id, looking
// backwards because an id may have been used twice.
func toolName(talk []Message, i int) string {
	id := talk[i].ToolCallID
	for j := i - 1; j >= 0; j-- {
		for _, call := range talk[j].ToolCalls {
			if call.ID == id {
				return call.Name
			}
		}
	}
	return talk[i].Name
}

// lastUser returns the content of the last message of the user.
func lastUser(talk []Message) string {
	for _, m := range slices.Backward(talk) {
		if m.Role == RoleUser {
			return m.Content
		}
	}
	return ""
}

func systemText(talk []Message) string {
	var parts []string
	for _, m := range talk {
		if instructs(m) {
			parts = append(parts, m.Content)
		}
	}
	return strings.Join(parts, "\n")
}

// callID is the id of a call that the script gives none. The turn in it makes
// ids unique in a conversation, and lets a shortened conversation be followed.
func callID(turn, n int) string {
	return "call_" + strconv.Itoa(turn) + "_" + strconv.Itoa(n)
}

var callIDPattern = regexp.MustCompile(`call_(\d{1,6})_\d+$`)

// turnByCallID reads the turn from the last of our own call ids; assistant
// messages after it count on. Without any id it counts all of them.
func turnByCallID(talk []Message) int {
	after := 0
	for _, t := range slices.Backward(talk) {
		if t.Role != RoleAssistant {
			continue
		}
		after++
		for _, call := range t.ToolCalls {
			if m := callIDPattern.FindStringSubmatch(call.ID); m != nil {
				turn, err := strconv.Atoi(m[1])
				if err == nil {
					return turn + after
				}
			}
		}
	}
	return after
}
