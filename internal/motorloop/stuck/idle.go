// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// An idle turn is an answer without a call that does not close the attempt. It gets one reminder.

// maxIdle is how many idle turns in a row end the attempt.
const maxIdle = 2

// Idle is a kind of idle turn.
type Idle int

const (
	NotIdle Idle = iota
	// SaidNothing: the answer was empty.
	SaidNothing
	// BrokeOff: the answer stopped at the model's output limit.
	BrokeOff
	// WroteCall: the answer has a call written as text.
	WroteCall
	// Announced: the answer announces the model's next step.
	Announced
	// SaidText: the answer is any other text.
	SaidText
)

// IdleOf returns in which way a turn is idle.
func IdleOf(t *turn.Turn) Idle {
	switch {
	case len(t.Calls) > 0 || t.IsSummary() || t.Closes:
		return NotIdle
	case t.Content == "":
		return SaidNothing
	case strings.HasSuffix(t.Content, turn.TruncatedMark):
		return BrokeOff
	case hasWrittenCall(t.Content):
		return WroteCall
	case announces(t.Content):
		return Announced
	}
	return SaidText
}

// Reminder returns the message to the model after an idle turn.
func (k Idle) Reminder() string {
	switch k {
	case SaidNothing:
		return "Your answer was empty. Call a tool. If the task is over, call finish."
	case BrokeOff:
		return "Your answer was cut off at your output limit. Go on with tool calls, and write long texts to a file in parts. " +
			"If the task is over, call finish with a shorter summary."
	case WroteCall:
		return "Your answer has a tool call written as text, so nothing was done. Make the call itself."
	case Announced:
		return "You said what you will do, and called no tool, so nothing was done. Make the call. If the task is over, call finish."
	default:
		return "You called no tool, so nothing was done. If the task is over, call finish with your result. If it is not, make the next call."
	}
}

// writtenCalls are the forms in which models write calls as text.
var writtenCalls = regexp.MustCompile(`(?i)<tool_call\b|<function_calls?>|<function=|<\|tool_call|\[TOOL_CALLS\]|<invoke name=`)

// maxCallText is how much of a text is searched for calls that are written as JSON, from its end.
const maxCallText = 32 << 10

// hasWrittenCall reports whether a text has a tool call in one of the forms in which models write them when they miss the endpoint's own.
func hasWrittenCall(s string) bool {
	if writtenCalls.MatchString(s) {
		return true
	}
	if len(s) > maxCallText {
		s = s[len(s)-maxCallText:]
	}
	for range 16 {
		start := strings.IndexByte(s, '{')
		if start < 0 {
			return false
		}
		s = s[start:]
		var call struct {
			Name, Tool, Function  string
			Arguments, Parameters json.RawMessage
			Input                 json.RawMessage
		}
		// A decoder stops at the end of the object. Anything may follow.
		if json.NewDecoder(strings.NewReader(s)).Decode(&call) == nil {
			given := call.Arguments != nil || call.Parameters != nil || call.Input != nil
			if given && slices.ContainsFunc([]string{call.Name, call.Tool, call.Function}, isToolName) {
				return true
			}
		}
		s = s[1:]
	}
	return false
}

func isToolName(s string) bool {
	return s != "" && (catalog.Builtin().Knows(s) || toolapi.IsMCPTool(s))
}

// intention matches the beginning of a sentence that announces its speaker's next step.
var intention = regexp.MustCompile(`(?i)^\W*(?:(?:now|next|first|then|so|ok|okay|alright|great)\b[,.]?\s+)*(?:i(?:'|’)?ll\b|i will\b|i am going to\b|i(?:'|’)m going to\b|let me\b|let(?:'|’)s\b|i am about to\b)`)

var sentenceEnd = regexp.MustCompile(`[.!?:]\s+|\n+`)

// announces reports whether the last sentence of a text announces the model's next step.
func announces(s string) bool {
	s = strings.TrimSpace(s)
	if len(s) > maxCallText {
		s = s[len(s)-maxCallText:]
	}
	if ends := sentenceEnd.FindAllStringIndex(s, -1); len(ends) > 0 {
		s = s[ends[len(ends)-1][1]:]
	}
	return intention.MatchString(s)
}

// StaysIdle finds that the last of the answers, which are neither summaries nor checks, were idle. The attempt ends as it stands, and the model's last text is kept.
func StaysIdle(turns []*turn.Turn) *outcome.Failure {
	n := len(turns)
	if n < maxIdle {
		return nil
	}
	for _, t := range turns[n-maxIdle:] {
		if IdleOf(t) == NotIdle {
			return nil
		}
	}
	last := turns[n-1]
	f := &outcome.Failure{Category: outcome.ModelFailure, Reason: outcome.ReasonNotFinished, Retryable: true}
	switch IdleOf(last) {
	case SaidNothing, BrokeOff:
		f.Reason = outcome.ReasonEmptyAnswers
		f.Message = fmt.Sprintf("The model %s gave %d answers in a row with neither a tool call nor a complete text. "+
			"Try another model, or one with a larger output limit.", last.Model, maxIdle)
	default:
		f.Message = fmt.Sprintf("The model %s answered %d times in a row without a tool call, and did not call finish. Last: \"%s\" "+
			"If it is a result, look at it in the last step. A model that cannot call a tool at the end needs finish: Text in its MotorCortex.",
			last.Model, maxIdle, head(last.Content))
	}
	return f
}
