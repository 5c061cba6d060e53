// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// newAsk is what the engine records when a person is asked about an execution of a call of the last turn.
func newAsk(l *journal.Log, run *v1alpha1.MotorRun, kind v1alpha1.InputKind, c turn.Call, execution string, now time.Time) turn.Ask {
	call := v1alpha1.ToolCall{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments}
	a := runpolicy.NewAsk(run, l.AllSteps(), kind, &call, execution, now)
	return journal.AskOf(&a)
}

// asks has the loop ask a person about a call of the last turn.
func (r *rig) asks(kind v1alpha1.InputKind, call int) {
	r.t.Helper()
	l := r.log()
	turns := l.Turns()
	last := turns[len(turns)-1]
	c := last.Calls[call]
	last.Asks = append(last.Asks, newAsk(l, r.run(), kind, c, c.ID, r.now))
	must(r.t, l.Settle(r.ctx, last))
}

// closed has the loop put the response to the open ask to use, and gives its call a result, if there is one.
func (r *rig) closed(outcome turn.AskOutcome, by string, res *toolapi.Result) {
	r.t.Helper()
	l := r.log()
	turns := l.Turns()
	last := turns[len(turns)-1]
	i := slices.IndexFunc(last.Asks, func(a turn.Ask) bool { return a.Outcome == "" })
	if i < 0 {
		r.t.Fatalf("nothing is asked: %+v", last.Asks)
	}
	a := &last.Asks[i]
	a.Outcome, a.By, a.ClosedAt = outcome, by, r.now.Truncate(time.Second)
	for i, c := range last.Calls {
		if c.ID == a.CallID && res != nil {
			last.Results[i] = res
		}
	}
	must(r.t, l.Settle(r.ctx, last))
}
