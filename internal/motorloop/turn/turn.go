// SPDX-License-Identifier: Apache-2.0

// Package turn is the record of an attempt: its turns with calls, results and asks, the ids of calls, and the marks in recorded text. The
// journal stores turns, and the loop decides by them alone.
package turn

import (
	"slices"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Turn is one turn of the loop: the model's decision and its results.
type Turn struct {
	// Index counts the turns of an attempt from 1, summaries included.
	Index int32
	// Through is set for a summary, which the model wrote without being asked for the next step. Content replaces every turn up to the one with
	// this index in the conversation. A summary has no calls and is not an iteration.
	Through int32
	// Model is the name of the model as the endpoint reported it.
	Model string
	// Content is the model's text beside its tool calls, and the result's summary if the turn closes the attempt.
	Content string
	// Closes is true if the attempt has ended well with this turn. It has no calls: it records the end that a finish call asked for, or is
	// the closing text of a model that ends its runs with text.
	Closes bool
	// Value is the result as JSON if the turn closes the attempt and its task asks for one, "" otherwise.
	Value string
	// Checks is true if the loop made the turn, not the model: its calls are the commands that the task demands. They decide about the finish call of
	// the turn before.
	Checks bool
	// Calls are in the order of the model's answer.
	Calls []Call
	Usage Usage
	// Failed is the cost of failed tries of the same request.
	Failed Usage
	// ModelDuration is the time from the first try of the request to the answer.
	ModelDuration time.Duration
	// PromptDigest and RequestDigest are "sha256:…" of the system prompt and of the whole request.
	PromptDigest  string
	RequestDigest string
	// Results has one entry per call, nil until the call has a result.
	Results []*toolapi.Result
	// Asks are the questions to a person about its calls. Entries are only added, and get their outcome once.
	Asks []Ask
	// Notes are texts for the model beside the results, such as that a background program has ended.
	Notes []string
	// Left is the remainder of the run's limits when all calls had results. The model sees it.
	Left Left
	// Unknown has an entry for each execution of a call that was started and whose end was not seen, in the order in which
	// they were found. Entries are only added.
	Unknown []Unknown
}

// Left is the remainder of a run's limits. A value of 0 is not known, or has no limit.
type Left struct {
	Time   time.Duration
	Tokens int64
}

// Unknown is an execution of a call that was started and whose end was not seen.
type Unknown struct {
	// Execution is the id under which the sandbox ran it; see ExecutionID.
	Execution string
	// CallID is the ID of the call.
	CallID  string
	FoundAt time.Time
	Policy  UnknownPolicy
}

// UnknownPolicy is who handles an execution of unknown outcome.
type UnknownPolicy string

const (
	// UnknownRedo: the call only reads, so it is made again.
	UnknownRedo UnknownPolicy = "Redo"
	// UnknownPerson: a person is asked.
	UnknownPerson UnknownPolicy = "Person"
	// UnknownModel: the model learns of it and decides.
	UnknownModel UnknownPolicy = "Model"
)

// Settled reports whether every call of the turn has a result.
func (t *Turn) Settled() bool {
	for _, r := range t.Results {
		if r == nil {
			return false
		}
	}
	return len(t.Results) == len(t.Calls)
}

// Call is one tool call of a turn.
type Call struct {
	// ID is ours: unique in the run and the same after a restart, "a2-s2-c0" (attempt, step, call).
	ID string
	// ModelID is the id of the call in the model's answer; it identifies the call in the conversation.
	ModelID string
	Tool    string
	// Arguments is the model's text, JSON or not.
	Arguments string
}

// Continues reports whether turns are those that were seen, in the same order, and perhaps more.
func Continues(seen, turns []*Turn) bool {
	return len(seen) <= len(turns) && slices.Equal(seen, turns[:len(seen)])
}

// Size returns how many bytes the texts of the turn have: they are the bulk of what a loop has in memory.
func (t *Turn) Size() int {
	n := len(t.Content) + len(t.Value)
	for _, c := range t.Calls {
		n += len(c.Arguments)
	}
	for _, r := range t.Results {
		if r != nil {
			n += len(r.Output)
		}
	}
	for _, note := range t.Notes {
		n += len(note)
	}
	return n
}

// IsSummary reports whether the turn replaces others, and is none of the model's steps.
func (t *Turn) IsSummary() bool { return t.Through > 0 }

// Clone copies a turn with as many results as calls. So Run never changes the caller's turns, which may belong to a cache.
func Clone(t *Turn) *Turn {
	c := *t
	c.Calls = slices.Clone(t.Calls)
	c.Results = make([]*toolapi.Result, len(t.Calls))
	copy(c.Results, t.Results)
	c.Unknown, c.Asks = slices.Clone(t.Unknown), slices.Clone(t.Asks)
	return &c
}

// MaxCalls is how many calls of a turn are made.
func (t *Turn) MaxCalls() int {
	if OnlyRead(t.Calls) {
		return toolapi.MaxReads
	}
	return toolapi.MaxCalls
}

// OnlyRead reports whether all calls only read the workspace.
func OnlyRead(calls []Call) bool {
	return !slices.ContainsFunc(calls, func(c Call) bool { return !toolapi.OnlyReads(c.Tool) })
}
