// SPDX-License-Identifier: Apache-2.0

// Package stuck finds attempts that get nowhere: the same call again and again, calls that cannot be carried out, requests that a person
// refused, and answers without a call.
package stuck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// An attempt is stuck when it goes in a circle: the same call with the same result again and again, or two calls in turn. A
// program that ends with another status than 0 has a result like any other, such as tests that fail or a search without a match.
const (
	// sameResults is how many times in a row the same call may have the same result, sameErrors how many times the tool may
	// fail in the same way.
	sameResults = 4
	sameErrors  = 3
	// alternations is how many calls in a row may alternate between two, with the same two results.
	alternations = 6
	// bailout is how many turns in a row may consist of calls that cannot be carried out before the attempt ends.
	bailout = 3
	// warnedAlternations is the call of them that has the warning.
	warnedAlternations = 4
)

// step is a call with its result.
type step struct {
	turn, call int
	tool, args string
	ok         bool
	code       string
	output     string
}

// circle is the state of the detection of repetitions up to one call. It counts in turns: a model that makes the same call twice in one answer
// has not seen the first result when it makes the second.
type circle struct {
	// last is the newest call, and other the one with which it alternates.
	last, other step
	// before are the turns of the newest calls, the newest first.
	before []int
	// same is how often in a row the newest call was made with the same result, alternating how many calls in a row alternate.
	same, alternating int
	// refused is the number of turns of the newest calls that could not be carried out, refusedIn the last of these turns.
	refused, refusedIn int
}

// next adds a call. Retryable calls, and those without a known result, break every series.
func (c *circle) next(t *turn.Turn, at, call int) {
	s, counts := stepOf(t, at, call, c)
	c.refuse(s)
	switch {
	case !counts:
		c.last, c.other, c.same, c.alternating, c.before = step{}, step{}, 0, 0, nil
		return
	case c.same > 0 && s.turn == c.last.turn && s.equals(c.last):
		return
	case c.same == 0:
		c.same, c.alternating = 1, 1
	case s.equals(c.last):
		c.same, c.alternating = c.same+1, 1
	case c.alternating > 1 && s.equals(c.other):
		c.same, c.alternating, c.other = 1, c.alternating+1, c.last
	default:
		c.same, c.alternating, c.other = 1, 2, c.last
	}
	c.last = s
	c.before = append([]int{at}, c.before[:min(len(c.before), alternations)]...)
}

// refuse counts the turns that end with calls that could not be carried out.
func (c *circle) refuse(s step) {
	if !notCarriedOut(s) {
		c.refused = 0
		return
	}
	if c.refused == 0 || c.refusedIn != s.turn {
		c.refused++
	}
	c.refusedIn = s.turn
}

// stepOf returns a call of a settled turn, and whether its repetition counts. A repetition does not count if the result was retryable, or if
// the call was a question. A refused repetition has the result of the call that it repeats.
func stepOf(t *turn.Turn, at, call int, c *circle) (step, bool) {
	made, res := t.Calls[call], t.Results[call]
	s := step{turn: at, call: call, tool: made.Tool, args: canonical(made.Arguments)}
	if res == nil {
		return s, false
	}
	if res.ErrorCode == toolapi.CodeRepeatedCall && c.same > 0 && s.tool == c.last.tool && s.args == c.last.args {
		s.ok, s.code, s.output = c.last.ok, c.last.code, c.last.output
		return s, true
	}
	s.ok, s.code, s.output = res.OK, res.ErrorCode, res.Output
	if strings.HasSuffix(made.Arguments, turn.ArgumentsCutMark) && s.code == toolapi.CodeTooLarge {
		// The tool was not called. A tool that was called and finds a file too large returns the same code.
		s.code = toolapi.CodeInvalidArguments
	}
	if res.OutputFile != "" {
		// The name of the file has the id of the call in it.
		s.output = strings.ReplaceAll(s.output, res.OutputFile, "")
	}
	return s, !res.Retryable && made.Tool != toolapi.ToolAskUser
}

func (s step) equals(o step) bool {
	return s.tool == o.tool && s.ok == o.ok && s.code == o.code && s.output == o.output && s.args == o.args
}

// failed reports whether the tool failed. A program that ends with another status than 0 is no failure of the tool.
func (s step) failed() bool { return !s.ok && !strings.HasPrefix(s.code, toolapi.ExitPrefix) }

// most is how many times in a row the call may be made with this result.
func (s step) most() int {
	if s.failed() {
		return sameErrors
	}
	return sameResults
}

// notCarriedOut reports whether a call was refused before anything was done: no such tool exists, or the rules of the run or a person
// forbade the call.
func notCarriedOut(s step) bool {
	return slices.Contains([]string{
		toolapi.CodeInvalidArguments, toolapi.CodeUnknownTool, toolapi.CodeToolNotGranted, toolapi.CodeTooManyCalls, toolapi.CodeRepeatedCall,
		toolapi.CodeCommandNotAllowed, toolapi.CodeDomainNotAllowed,
		toolapi.CodeDomainDenied, toolapi.CodeApprovalDenied, toolapi.CodeApprovalExpired,
	}, s.code)
}

// Watch follows the turns of an attempt, so that a long one is not read again with each turn. The zero value has seen none. It is not safe for
// concurrent use.
type Watch struct {
	seen   []*turn.Turn
	circle circle
}

// GetsNowhere returns a failure if the calls of the last turns could not be carried out, or if the attempt goes in a circle. All turns must be settled.
// The result follows from them alone: Watch only spares those that it has seen.
func (w *Watch) GetsNowhere(turns []*turn.Turn) *outcome.Failure {
	if !turn.Continues(w.seen, turns) {
		*w = Watch{}
	}
	for i, t := range turns[len(w.seen):] {
		for n := range t.Calls {
			w.circle.next(t, len(w.seen)+i, n)
		}
	}
	w.seen = append(w.seen, turns[len(w.seen):]...)
	return cmp.Or(w.circle.repeatedToolFailure(turns), w.circle.stuck())
}

// stuck returns a failure if the attempt goes in a circle.
func (c *circle) stuck() *outcome.Failure {
	f := &outcome.Failure{Category: outcome.ToolFailure, Reason: outcome.ReasonStuck, Retryable: true}
	switch {
	case c.same >= c.last.most() && c.same > 0:
		came := "with the same result each time, last: "
		if c.last.failed() {
			came = fmt.Sprintf("and it failed in the same way each time (code %s), last: ", c.last.code)
		}
		f.Message = fmt.Sprintf("The model made the same call %d times in a row, %s, %s%s. Say in a retry what to do instead.",
			c.same, c.last.shown(), came, quoted(c.last.output))
	case c.alternating >= alternations && c.warned():
		f.Message = fmt.Sprintf("The model alternated between the same two calls, with the same results each time, %d calls in a row: %s and %s, last: %s. "+
			"Say in a retry what to do instead.", c.alternating, c.other.shown(), c.last.shown(), quoted(c.last.output))
	default:
		return nil
	}
	return f
}

// warned reports whether the model has seen the warning when it made the newest of the alternating calls.
func (c *circle) warned() bool {
	return c.before[0] > c.before[alternations-warnedAlternations]
}

// repeatedToolFailure returns a failure if the calls of the last turns could not be carried out. Calls of one turn count once.
func (c *circle) repeatedToolFailure(turns []*turn.Turn) *outcome.Failure {
	if c.refused < bailout {
		return nil
	}
	t := turns[c.refusedIn]
	last := len(t.Calls) - 1
	return &outcome.Failure{
		Category: outcome.ToolFailure, Reason: outcome.ReasonRepeatedToolFailure, Retryable: true,
		Message: fmt.Sprintf("The model made calls in %d turns in a row that could not be carried out, the last one of %s (code %s): %s. "+
			"Say in a retry how to do it, or allow what it lacks.",
			c.refused, t.Calls[last].Tool, t.Results[last].ErrorCode, quoted(t.Results[last].Output)),
	}
}

// shown names a call for a message.
func (s step) shown() string {
	const size = 150
	return s.tool + " " + text.Line(s.args, size)
}

// head returns the beginning of a text in one line.
func head(s string) string {
	const size = 200
	return text.Line(s, size)
}

// quoted returns the beginning of an output for a message.
func quoted(output string) string { return `"` + head(output) + `"` }

// At is a call of the conversation.
type At struct {
	Index int32
	Call  int
}

// Warner finds the notes for the model beside results before its attempt ends. They depend only on the turns up to their own, so that a message never
// changes after it was sent.
type Warner struct {
	// Tools are the granted tools.
	Tools  []string
	circle circle
	turns  int
	over   bool
}

// Add adds the next turn of the attempt, and puts its warnings into found. There are none from a turn on that is not settled.
func (w *Warner) Add(t *turn.Turn, found map[At]string) {
	if w.over = w.over || !t.Settled(); w.over {
		return
	}
	for n := range t.Calls {
		w.circle.next(t, w.turns, n)
		if warning := w.circle.warning(w.Tools, n == len(t.Calls)-1); warning != "" && w.circle.atNewest(w.turns, n) {
			found[At{t.Index, n}] = warning
		}
	}
	w.turns++
}

// atNewest reports whether the call is the newest that counts, and none that a former one of its turn stands for.
func (c *circle) atNewest(at, call int) bool {
	return c.refused > 0 || c.last.turn == at && c.last.call == call
}

const howToWait = "If you wait for something, make one call that returns when it has happened"

func (c *circle) warning(tools []string, lastOfTurn bool) string {
	wait := howToWait
	if slices.Contains(tools, toolapi.ToolBash) {
		wait += ", for example bash with: until COMMAND; do sleep 2; done"
	}
	instead := "Change the arguments, use another tool, or finish with what you have. " + wait + "."
	switch {
	case c.refused == bailout-1 && lastOfTurn:
		return fmt.Sprintf("[warning: calls of your last %d answers could not be carried out. If that happens once more, the attempt ends. "+
			"Compare names and arguments with the definitions of your tools, or finish with what you have.]", c.refused)
	case c.refused > 0:
		return ""
	case c.same > 1 && c.same >= c.last.most()-1:
		return fmt.Sprintf("[warning: you made this call %d times in a row, and the result was the same each time. One more ends the attempt. %s]",
			c.same, instead)
	case c.alternating >= warnedAlternations:
		return fmt.Sprintf("[warning: your last %d calls alternate between the same two, with the same results each time. "+
			"If you make both once more, the attempt ends. %s]", c.alternating, instead)
	}
	return ""
}
