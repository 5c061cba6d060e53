// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// CallPolicy judges the calls of a run by its spec, its journal, and the decisions of people. The sandbox has no influence.
type CallPolicy struct {
	Run     *v1alpha1.MotorRun
	Entries *journal.Log
}

// Refuse returns the envelope of a call that the run may not make.
func (p CallPolicy) Refuse(c turn.Call) *toolapi.Result {
	if message := calls.CommandRefused(p.Run, c.Tool, c.Arguments); message != "" {
		return toolapi.Refusal(toolapi.CodeCommandNotAllowed, message)
	}
	return nil
}

// NeedsApproval reports whether a person must approve the call.
func (p CallPolicy) NeedsApproval(c turn.Call) bool {
	return calls.OpenRule(p.Run, p.Entries.AllSteps(), c.Tool, c.Arguments) != nil
}

// Key names the effect of a call that must not happen twice.
func (p CallPolicy) Key(c turn.Call) string {
	return calls.IdempotencyKey(c.Tool, c.Arguments)
}

// Done returns the result of a call whose effect was brought about before.
func (p CallPolicy) Done(c turn.Call) *toolapi.Result {
	return calls.AlreadyDone(p.Run, p.Entries.AllSteps(), c.ID, c.Tool, c.Arguments)
}

// Risky reports whether the call may have an irreversible effect.
func (p CallPolicy) Risky(c turn.Call) bool {
	return calls.IsRisky(p.Run, c.Tool, c.Arguments)
}
