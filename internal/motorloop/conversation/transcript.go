// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/stuck"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Transcript builds the conversation from the recorded turns. There is no other copy of it: the same turns yield the
// same messages in any process. A tool message follows every call, as endpoints demand. System prompt and task are
// never shortened; the rest of a long conversation is, see view.
func Transcript(cfg config.Config, turns []*turn.Turn) []chat.Message {
	return viewOf(cfg, turns).messages()
}

// emptyAnswerText replaces an empty answer: some endpoints refuse an assistant message without content, others two user messages in a row.
const emptyAnswerText = "(empty answer)"

// turnMessages are the messages of a turn: its answer, its results, and its notes.
func (v *view) turnMessages(t *turn.Turn) []chat.Message {
	notes := slices.Clone(t.Notes)
	if left := v.left[t.Index]; left != "" {
		notes = append(notes, left)
	}
	return withNotes(notes, v.answerMessages(t))
}

func (v *view) answerMessages(t *turn.Turn) []chat.Message {
	said := chat.Message{Role: chat.RoleAssistant, Content: v.contentOf(t)}
	if kind := stuck.IdleOf(t); kind != stuck.NotIdle {
		said.Content = cmp.Or(said.Content, emptyAnswerText)
		return []chat.Message{said, {Role: chat.RoleUser, Content: kind.Reminder()}}
	}
	msgs := []chat.Message{said}
	for i, c := range t.Calls {
		result := v.resultOf(t, i)
		c.Arguments = replayableArguments(c.Arguments)
		if head := v.cut[part{t.Index, i, ofArguments}]; head > 0 {
			c.Arguments = shortenArguments(c.Arguments, head)
			result += argumentsCutNote
		}
		if note := approvalNote(t, i); note != "" {
			result = strings.TrimSuffix(result, "\n") + note
		}
		if warning := v.warned[stuck.At{Index: t.Index, Call: i}]; warning != "" {
			result += "\n" + warning
		}
		msgs = append(msgs, chat.Message{Role: chat.RoleTool, ToolCallID: c.ModelID, Content: result})
		msgs[0].Calls = append(msgs[0].Calls, c)
	}
	return msgs
}

func (v *view) contentOf(t *turn.Turn) string {
	if head := v.cut[part{t.Index, -1, ofContent}]; head > 0 {
		return cutContent(t.Content, 2*head)
	}
	return t.Content
}

func (v *view) resultOf(t *turn.Turn, i int) string {
	var res *toolapi.Result
	if i < len(t.Results) {
		res = t.Results[i]
	}
	if head := v.cut[part{t.Index, i, ofResult}]; head > 0 && res != nil {
		return renderCut(t.Calls[i], res, head)
	}
	return result.Render(res)
}

// replayableArguments makes arguments that an endpoint accepts back. Some endpoints parse the arguments of earlier calls. One
// call whose arguments were no JSON object would make them refuse every later request of the run.
func replayableArguments(raw string) string {
	raw = catalog.ObjectOrEmpty(raw)
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &object) == nil && object != nil {
		return raw
	}
	const size = 1 << 10
	b, err := json.Marshal(map[string]string{"not_a_json_object": text.Cut(raw, size, size, "…")})
	if err != nil {
		return "{}"
	}
	return string(b)
}

// approveRun is the API's decision that approves a call and further ones like it.
const approveRun = "ApproveRun"

// approvalNote reports that a person approved the call, and their comment. The result is the call's own and cannot carry it.
func approvalNote(t *turn.Turn, i int) string {
	c := t.Calls[i]
	if c.Tool == toolapi.ToolRequestApproval || i >= len(t.Results) || t.Results[i] == nil {
		return ""
	}
	var note strings.Builder
	for _, a := range t.Asks {
		switch {
		case a.Kind != turn.AskApproval || a.CallID != c.ID || a.Outcome != turn.AskApproved:
		case a.Reason != "":
			fmt.Fprintf(&note, "\n[the person approved this call%s, and says: %s]", further(a), a.Reason)
		default:
			fmt.Fprintf(&note, "\n[the person approved this call%s]", further(a))
		}
	}
	return note.String()
}

// further returns the scope of an approval beyond its call.
func further(a turn.Ask) string {
	if a.Decision == approveRun {
		return " and further ones like it"
	}
	return ""
}
