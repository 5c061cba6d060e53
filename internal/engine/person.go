// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// person responds to what a run asks with what its spec says. Whoever answers with a value that the model must not see has it kept from
// the model all the same.
type person struct {
	run     *v1alpha1.MotorRun
	entries *journal.Log
	// now is the API server's clock, observed what of its time counts.
	now      func() time.Time
	observed func() runpolicy.Observed
	known    *redacting.Secrets
}

// maxReason is the most of the reason of a decision that is recorded, in bytes of JSON.
const maxReason = 2048

// Ask gives the ask about an execution of a call of the last step.
func (p person) Ask(kind motorloop.AskKind, c motorloop.Call, execution string) motorloop.Ask {
	call := v1alpha1.ToolCall{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments}
	a := runpolicy.NewAsk(p.run, p.entries.AllSteps(), v1alpha1.InputKind(kind), &call, execution, p.now())
	return journal.AskOf(&a)
}

// Reply gives an ask with what became of it.
func (p person) Reply(a motorloop.Ask) (motorloop.Ask, bool) {
	steps := p.entries.Steps()
	asks := runpolicy.AsksOf(&steps[len(steps)-1])
	i := slices.IndexFunc(asks, func(s v1alpha1.StepAsk) bool { return s.ID == a.ID })
	if i < 0 {
		return a, false
	}
	ask := asks[i]
	if ask.Outcome == "" {
		closed, ok := runpolicy.CloseAsk(p.run, ask, p.observed(), p.now())
		if !ok {
			return a, false
		}
		closed.Reason = runpolicy.CutEncoded(p.known.Hide(closed.Reason), maxReason)
		ask = closed
	}
	a = journal.AskOf(&ask)
	if r := runpolicy.ResponseTo(p.run, &ask); r != nil {
		a.Answer = p.known.Hide(r.Answer)
	}
	return a, true
}
