// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// Person answers the questions of a run from its spec. If an answer contains a value that the model must not see, the value is hidden from
// the model all the same.
type Person struct {
	Env *runenv.Env
}

// maxReason is the most of the reason of a decision that is recorded, in bytes of JSON.
const maxReason = 2048

// Ask returns the ask about an execution of a call of the last step.
func (p Person) Ask(kind turn.AskKind, c turn.Call, execution string) turn.Ask {
	call := v1alpha1.ToolCall{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments}
	a := runpolicy.NewAsk(p.Env.Run, p.Env.Entries.AllSteps(), v1alpha1.InputKind(kind), &call, execution, p.Env.APINow())
	return journal.AskOf(&a)
}

// Reply returns an ask with its outcome.
func (p Person) Reply(a turn.Ask) (turn.Ask, bool) {
	steps := p.Env.Entries.Steps()
	asks := steps[len(steps)-1].Status.Asks
	i := slices.IndexFunc(asks, func(s v1alpha1.StepAsk) bool { return s.ID == a.ID })
	if i < 0 {
		return a, false
	}
	ask := asks[i]
	if ask.Outcome == "" {
		closed, ok := runpolicy.CloseAsk(p.Env.Run, ask, p.Env.Observed(), p.Env.APINow())
		if !ok {
			return a, false
		}
		closed.Reason = fit.CutEncoded(p.Env.Known.Hide(closed.Reason), maxReason)
		ask = closed
	}
	a = journal.AskOf(&ask)
	if r := runpolicy.ResponseTo(p.Env.Run, &ask); r != nil {
		a.Answer, a.HasFiles = p.Env.Known.Hide(r.Answer), len(r.Files) > 0
	}
	return a, true
}
