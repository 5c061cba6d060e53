// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxExecutions is how many times one call is started at most. A call that crashes the tool server each time would
// otherwise do so for ever.
const maxExecutions = 4

// A person's decisions about a call of unknown outcome. With any other one the call is not made again.
const (
	decisionRetry = "Retry"
	decisionDone  = "Done"
)

// prospect is the next step of a call that has no result: an execution, an open ask, or a result.
type prospect struct {
	// execution is the id under which the call is executed next. approval is the id whose approval counts for it: an execution that a
	// person has repeated must be approved again.
	execution, approval string
	open                *turn.Ask
	result              *toolapi.Result
}

// prospect decides the next step of a call that has no result. It depends on the recorded turn and the responses only:
// a loop that resumes after a restart reaches the same decision.
//
//	execution ──► result
//	  ▲   │
//	  │   ▼
//	  │ unknown ── Model, Done, Skip, started too often ──► result
//	  │   │
//	  └───┴── Redo, Retry                   Person, no decision ──► Awaiting
func (r *run) prospect(ctx context.Context, t *turn.Turn, c *turn.Call) (prospect, error) {
	n := 0
	var last turn.Unknown
	for _, u := range t.Unknown {
		if u.CallID == c.ID {
			n, last = n+1, u
		}
	}
	switch {
	case n == 0:
		return prospect{execution: c.ID, approval: c.ID}, nil
	case last.Policy == turn.UnknownModel || n >= maxExecutions:
		return prospect{result: unknownResult(n)}, nil
	case last.Policy == turn.UnknownRedo && t.Checks:
		// A person approved only this execution.
		return prospect{execution: turn.ExecutionID(c.ID, n), approval: turn.ExecutionID(c.ID, n)}, nil
	case last.Policy == turn.UnknownRedo:
		return prospect{execution: turn.ExecutionID(c.ID, n), approval: c.ID}, nil
	}
	a, err := r.asked(ctx, t, turn.AskUnknown, c, last.Execution)
	if err != nil || a.Outcome == "" {
		return prospect{open: &a}, err
	}
	switch a.Decision {
	case decisionRetry:
		return prospect{execution: turn.ExecutionID(c.ID, n), approval: turn.ExecutionID(c.ID, n)}, nil
	case decisionDone:
		res := &toolapi.Result{OK: true, Output: doneText, Provenance: toolapi.ProvenanceUser}
		return prospect{result: result.WithReason(res, saysLead, a.Reason, record.OutputShare(t))}, nil
	default:
		// The text of the code says what happened, and introduces the person's words.
		said := strings.ToValidUTF8(cmp.Or(a.Reason, skippedText), "\uFFFD")
		return prospect{result: &toolapi.Result{
			ErrorCode:  toolapi.CodeSkipped,
			Output:     text.Cut(said, toolapi.MaxOutputBytes, record.OutputShare(t), turn.OutputCutMark),
			Provenance: toolapi.ProvenanceUser,
		}}, nil
	}
}

const (
	doneText    = "The end of this call is unknown, and its output is lost. The person looked: it did what it was meant to do."
	skippedText = "go on without it"
)

func unknownResult(n int) *toolapi.Result {
	why := "The tool server ended while this call ran"
	if n > 1 {
		why += fmt.Sprintf(", each of the %d times that it was made", n)
	}
	return &toolapi.Result{
		ErrorCode: toolapi.CodeOutcomeUnknown,
		Output: why + ". It may have done all of its work, a part, or nothing, and it is not made again by itself. " +
			"Look at what it changed before you decide whether to make it again.",
		Provenance: toolapi.ProvenanceInternal,
	}
}

// unknownPolicy returns who handles execution n (from 1) of a call, whose end was not seen. After the last execution that a call
// may have there is nothing to decide.
func (r *run) unknownPolicy(t *turn.Turn, c *turn.Call, n int) turn.UnknownPolicy {
	switch {
	case n >= maxExecutions:
		return turn.UnknownModel
	case toolapi.Repeatable(c.Tool), t.Checks && (r.policy == nil || !r.policy.Risky(*c)):
		return turn.UnknownRedo
	case r.cfg.OnUnknown == turn.UnknownModel:
		return turn.UnknownModel
	default:
		return turn.UnknownPerson
	}
}

// foundUnknown records that the end of the execution was not seen, before anything is done about it. Every loop that carries the run on
// must then decide about the same executions.
func (r *run) foundUnknown(ctx context.Context, t *turn.Turn, c *turn.Call, execution string) error {
	n := 1
	for _, u := range t.Unknown {
		if u.CallID == c.ID {
			n++
		}
	}
	u := turn.Unknown{Execution: execution, CallID: c.ID, FoundAt: r.now(), Policy: r.unknownPolicy(t, c, n)}
	t.Unknown = append(t.Unknown, u)
	if u.Policy == turn.UnknownPerson {
		t.PutAsk(r.person.Ask(turn.AskUnknown, *c, execution))
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "the end of the tool call is unknown",
		slog.String("call", execution), slog.String("tool", c.Tool), slog.String("policy", string(u.Policy)))
	r.unrecorded = true
	return r.settle(ctx, t)
}
