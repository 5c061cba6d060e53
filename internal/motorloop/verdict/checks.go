// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/stuck"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The demands of a task are checked when the model claims success. Files and the value are checked before the finish call has
// its result. Commands are a turn of the loop's own: they are recorded before they run, approved and repeated by the rules of all calls.
//
//	finish ──► files, value ──► commands (a turn) ──► closing turn ──► Completed
//	   ▲            │                  │
//	   └── model ◄──┴──── not met ─────┘        three times ──► AcceptanceFailed

// CheckOutput is the most of the output of a check, in bytes: the model can make the call itself to see more.
const CheckOutput = 2 << 10

// ChecksDue reports whether the last turn has an accepted finish call and the commands must run now.
func ChecksDue(cfg config.Config, turns []*turn.Turn) bool {
	if len(turns) == 0 || len(cfg.Accept.Commands) == 0 {
		return false
	}
	last := turns[len(turns)-1]
	if last.Checks || last.Closes {
		return false
	}
	args := accepted(last)
	return args != nil && args.Status == toolapi.FinishSucceeded
}

// Checks is the turn that runs the commands.
func Checks(cfg config.Config, prior []*turn.Turn) *turn.Turn {
	t := &turn.Turn{Index: prior[len(prior)-1].Index + 1, Checks: true}
	for i, c := range cfg.Accept.Commands {
		id := turn.CallID(cfg.Attempt, t.Index, i)
		t.Calls = append(t.Calls, turn.Call{
			ID: id, ModelID: id, Tool: toolapi.ToolBash, Arguments: text.JSON(toolapi.BashArgs{Command: c.Command, TimeoutSeconds: c.TimeoutSeconds}),
		})
	}
	t.Results = make([]*toolapi.Result, len(t.Calls))
	return t
}

// passed reports whether all checks of a settled turn hold.
func passed(t *turn.Turn) bool {
	return !slices.ContainsFunc(t.Results, func(r *toolapi.Result) bool { return r == nil || !r.OK })
}

// refuted reports whether a check of a settled turn shows that a demand does not hold. A check whose end was not seen shows nothing.
func refuted(t *turn.Turn) bool {
	return slices.ContainsFunc(t.Results, func(r *toolapi.Result) bool { return r != nil && !r.OK && !result.EndedFromOutside(r) })
}

// maxNamedCommand is how much of a command names its check in a message, in bytes.
const maxNamedCommand = 200

// isRefusedCheck reports whether a person did not approve a check, or its repetition.
func isRefusedCheck(res *toolapi.Result) bool {
	return stuck.NotAllowed(res) || res != nil && res.ErrorCode == toolapi.CodeSkipped
}

// checkedCommand is the command of a check.
func checkedCommand(c turn.Call) string {
	var args toolapi.BashArgs
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return c.Arguments
	}
	return args.Command
}

// judgement returns the result of the finish call that the checks of a settled turn decide about, as the model sees it.
func judgement(t *turn.Turn) *toolapi.Result {
	if passed(t) {
		return &toolapi.Result{OK: true, Provenance: toolapi.ProvenanceInternal}
	}
	var b strings.Builder
	failed := 0
	for i, c := range t.Calls {
		if t.Results[i].OK {
			continue
		}
		failed++
		fmt.Fprintf(&b, "\n[check %d of %d] %s\n%s", i+1, len(t.Calls), text.Line(checkedCommand(c), maxNamedCommand), result.Render(t.Results[i]))
	}
	if !refuted(t) {
		return TryAgain(fmt.Sprintf("%d of %d checks did not come to their end, which was not their doing. A call of finish makes them again.%s", failed, len(t.Calls), b.String()))
	}
	return result.Refusal(result.CodeNotAccepted, fmt.Sprintf("%d of %d checks failed. Mend the cause, and call finish again.%s", failed, len(t.Calls), b.String()))
}

// Judged returns the turns with the result of each finish call as the model sees it. It omits the turns that check:
// their findings are the result of the finish call before them.
func Judged(turns []*turn.Turn) []*turn.Turn {
	if !slices.ContainsFunc(turns, func(t *turn.Turn) bool { return t.Checks }) {
		return turns
	}
	return new(Judging).Of(turns)
}

// Judging is Judged turn by turn: each turn of its result is the same pointer as before until it changes. The zero value has seen none. It is not safe
// for concurrent use.
type Judging struct {
	// seen are the turns from which list was made. A turn that checks is not among them before it is settled.
	seen, list []*turn.Turn
}

// Of returns the turns as Judged does. The caller must not change them.
func (j *Judging) Of(turns []*turn.Turn) []*turn.Turn {
	if !turn.Continues(j.seen, turns) {
		*j = Judging{}
	}
	for _, t := range turns[len(j.seen):] {
		open := t.Checks && !t.Settled()
		if open && t == turns[len(turns)-1] {
			break
		}
		j.seen = append(j.seen, t)
		n := len(j.list) - 1
		switch {
		case open:
		case !t.Checks:
			j.list = append(j.list, t)
		case n >= 0 && acceptedCall(j.list[n]) >= 0:
			// The readers of the former list have the former turn.
			judged := turn.Clone(j.list[n])
			judged.Results[acceptedCall(judged)] = judgement(t)
			// The notes of the turn that checks are shown with the turn that the model sees.
			judged.Notes = slices.Concat(judged.Notes, t.Notes)
			j.list = append(slices.Clone(j.list[:n]), judged)
		}
	}
	return j.list
}

// acceptanceFailed finds that the model repeatedly claimed a success that does not hold, or that a check may not be made.
func acceptanceFailed(turns []*turn.Turn) *outcome.Failure {
	f := &outcome.Failure{Category: outcome.Incomplete, Reason: outcome.ReasonAcceptanceFailed, Retryable: true}
	for _, t := range turns {
		if !t.Checks || !t.Settled() {
			continue
		}
		if i := slices.IndexFunc(t.Results, isRefusedCheck); i >= 0 {
			f.Message = fmt.Sprintf("The check %s was not approved (code %s), so it is unknown whether the task is done.",
				`"`+text.Line(checkedCommand(t.Calls[i]), maxNamedCommand)+`"`, t.Results[i].ErrorCode)
			return f
		}
	}
	times, last := RefusedFinishes(turns)
	if times < config.MaxRefusedFinishes {
		return nil
	}
	f.Message = fmt.Sprintf("The model called finish %d times, and what must hold did not. Last: %s", times, text.Cut(last.Output, maxSaid, 2*maxSaid, "…"))
	return f
}

// RefusedFinishes counts the finish calls that were refused because a demand does not hold, and returns the last such refusal.
func RefusedFinishes(turns []*turn.Turn) (times int, last *toolapi.Result) {
	for _, t := range turns {
		if t.Checks {
			if t.Settled() && refuted(t) {
				times, last = times+1, judgement(t)
			}
			continue
		}
		for _, res := range t.Results {
			if res != nil && res.ErrorCode == result.CodeNotAccepted {
				times, last = times+1, res
			}
		}
	}
	return times, last
}
