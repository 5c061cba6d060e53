// SPDX-License-Identifier: Apache-2.0

// Package record makes the turns that are recorded: of an answer of the model, and of the end. It bounds their parts, and the results of their calls.
package record

import (
	"encoding/json"
	"regexp"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/stuck"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A turn is one object in etcd, so its size is bounded for any model and any tools. Sizes are of the JSON
// encoding, in bytes: a kilobyte of '<' takes six there.
const (
	// recordBudget is the maximum size of a whole turn.
	recordBudget = 200 << 10
	// maxContent is the share of the model's text.
	maxContent = 64 << 10
	// maxTurnArguments is the share of the arguments of all calls together.
	maxTurnArguments = 104 << 10
	// cutArguments is how much of the arguments that are not carried out is kept.
	cutArguments = 512
	// maxTurnOutput is the share of the results, before encoding.
	maxTurnOutput = 128 << 10
	// MinOutputShare is the least that a result gets, even if the model used up the remainder.
	MinOutputShare = 2 << 10
	// callOverhead is the size of a call and its result besides arguments and output.
	callOverhead = 768
	// MaxCalls is how many calls of an answer are recorded; later ones are dropped as if never made.
	MaxCalls = 16

	// maxUsage is the most tokens that one answer can have used of each kind.
	maxUsage = 1 << 40

	maxModelID   = 256
	maxToolName  = 64
	maxModelName = 256
)

// New makes the record of an answer that follows prior.
func New(cfg config.Config, prior []*turn.Turn, a chat.Answer) *turn.Turn {
	t := &turn.Turn{
		Index:   int32(len(prior)) + 1,
		Model:   text.Cut(strings.ToValidUTF8(a.Model, ""), maxModelName, maxModelName, ""),
		Content: recordedContent(a),
		Usage:   BoundedUsage(a.Usage),
		Failed:  BoundedUsage(a.Failed),
	}
	if cfg.TextEnds && len(a.Calls) == 0 && stuck.IdleOf(t) == stuck.SaidText {
		if t.Closes = !cfg.Accept.Any(); !t.Closes {
			a.Calls = []turn.Call{finishOf(cfg, t.Content)}
		}
	}
	taken := map[string]bool{}
	for _, p := range prior {
		for _, c := range p.Calls {
			taken[c.ModelID] = true
		}
	}
	room := maxTurnArguments
	most := toolapi.MaxCalls
	if turn.OnlyRead(a.Calls) {
		most = toolapi.MaxReads
	}
	for i, c := range a.Calls[:min(len(a.Calls), MaxCalls)] {
		id := turn.CallID(cfg.Attempt, t.Index, i)
		rec := turn.Call{ID: id, ModelID: uniqueModelID(c.ModelID, id, taken), Tool: recordedTool(c.Tool)}
		rec.Arguments = recordedArguments(catalog.Builtin().OwnArguments(rec.Tool, c.Arguments), i < most, &room)
		t.Calls = append(t.Calls, rec)
	}
	t.Results = make([]*toolapi.Result, len(t.Calls))
	return t
}

func tokens(n int64) int64 { return min(max(n, 0), maxUsage) }

// BoundedUsage bounds the usage that an endpoint reports. Sums of a very large number would overflow, and lift the limit
// of the run's tokens.
func BoundedUsage(u turn.Usage) turn.Usage {
	u.PromptTokens, u.CompletionTokens, u.CachedTokens = tokens(u.PromptTokens), tokens(u.CompletionTokens), tokens(u.CachedTokens)
	return u
}

func recordedContent(a chat.Answer) string {
	s := text.Cut(strings.ToValidUTF8(a.Content, "\uFFFD"), maxContent, maxContent, turn.ContentCutMark)
	if strings.TrimSpace(s) == "" {
		s = ""
	}
	if a.Truncated {
		s += turn.TruncatedMark
	}
	return s
}

// recordedArguments cuts arguments that must not be carried out: over their own limit, or over room, the remainder
// for the turn. The mark makes them invalid JSON, so they stay refused after a restart.
func recordedArguments(s string, made bool, room *int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	size := text.EncodedLen(s)
	if !made {
		return text.Cut(s, cutArguments, cutArguments, turn.ArgumentsCutMark)
	}
	if len(s) > toolapi.MaxArgumentsBytes || size > *room {
		return text.Cut(s, cutArguments, cutArguments, turn.ArgumentsCutMark)
	}
	*room -= size
	return s
}

var notToolName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// recordedTool makes a name that an endpoint accepts back in a conversation. A name with a space in it would make the endpoint
// refuse every later request of the run.
func recordedTool(s string) string {
	s = notToolName.ReplaceAllString(s[:min(len(s), maxToolName)], "_")
	if s == "" {
		return "unnamed"
	}
	return s
}

var modelIDPattern = regexp.MustCompile(`^[\x21-\x7e]{1,256}$`)

// uniqueModelID retains the model's id if it is valid and new in the conversation. Some endpoints give the same id to
// every call, or none, and refuse a conversation in which the owner of a result is ambiguous.
func uniqueModelID(given, own string, taken map[string]bool) string {
	id := given
	if !modelIDPattern.MatchString(id) || text.EncodedLen(id) > maxModelID {
		id = own
	}
	if taken[id] {
		id = own
	}
	for taken[id] {
		id += "x"
	}
	taken[id] = true
	return id
}

// runnable is how many calls of t share the turn's output.
func runnable(t *turn.Turn) int { return max(min(len(t.Calls), t.MaxCalls()), 1) }

// OutputShare is how much of the record the output of one call may take, encoded.
func OutputShare(t *turn.Turn) int {
	left := recordBudget - text.EncodedLen(t.Content)
	for _, c := range t.Calls {
		left -= text.EncodedLen(c.Arguments) + callOverhead
	}
	return max(left/runnable(t), MinOutputShare)
}

// MaxOutput returns the output limit that is sent with a call. It depends only on the record before the first call runs,
// so that a repeated call is the same call.
func MaxOutput(t *turn.Turn, tool string) int {
	limit := toolapi.MaxOutputBytes
	switch {
	case t.Checks:
		limit = verdict.CheckOutput
	case tool == toolapi.ToolBash:
		limit = toolapi.MaxBashOutputBytes
	}
	return min(limit, maxTurnOutput/runnable(t), OutputShare(t))
}

// Closing is the turn that records the end of an attempt whose finish call was accepted.
func Closing(prior []*turn.Turn, out outcome.Outcome) *turn.Turn {
	answers := verdict.Iterations(prior)
	return &turn.Turn{
		Index: prior[len(prior)-1].Index + 1, Model: answers[len(answers)-1].Model,
		Content: text.Cut(out.Summary, maxContent, maxContent, turn.ContentCutMark), Value: out.Value, Closes: true,
	}
}

// finishOf returns the finish call that a text is equivalent to, for a model that ends its runs with text and whose task has demands. Text that
// is JSON is the value too.
func finishOf(cfg config.Config, content string) turn.Call {
	args := toolapi.FinishArgs{Status: toolapi.FinishSucceeded, Summary: cutRunes(content, toolapi.MaxFinishSummary)}
	call := turn.Call{Tool: toolapi.ToolFinish, Arguments: text.JSON(args)}
	if trimmed := strings.TrimSpace(content); len(cfg.Accept.Schemas) > 0 && json.Valid([]byte(trimmed)) {
		args.Value = json.RawMessage(trimmed)
		if with := text.JSON(args); fitsFinish(with) {
			call.Arguments = with
		}
	}
	return call
}

// fitsFinish reports whether arguments of finish are within their bounds. A call outside of them would be refused for its form, and the model
// does not know that it made one.
func fitsFinish(arguments string) bool {
	_, err := toolapi.ParseFinish(arguments)
	return err == nil
}

// cutRunes returns s with at most so many characters. A shortened text ends with a mark.
func cutRunes(s string, most int) string {
	const mark = "…"
	n, end := 0, 0
	for i := range s {
		if n++; n == most {
			end = i
		}
		if n > most {
			return s[:end] + mark
		}
	}
	return s
}
