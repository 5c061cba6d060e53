// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// callPolicy judges the calls of a run by its spec, its journal, and what people said. The sandbox has no say in it.
type callPolicy struct {
	run     *v1alpha1.MotorRun
	entries *journal.Log
}

// Refuse gives the envelope of a call that the run may not make.
func (p callPolicy) Refuse(c motorloop.Call) *toolapi.Result {
	if message := runpolicy.CommandRefused(p.run, c.Tool, c.Arguments); message != "" {
		return toolapi.Refusal(toolapi.CodeCommandNotAllowed, message)
	}
	return nil
}

// NeedsApproval says whether a person must approve the call.
func (p callPolicy) NeedsApproval(c motorloop.Call) bool {
	return runpolicy.OpenRule(p.run, p.entries.AllSteps(), c.Tool, c.Arguments) != nil
}

// Key names the effect of a call that must not happen twice.
func (p callPolicy) Key(c motorloop.Call) string {
	return runpolicy.IdempotencyKey(c.Tool, c.Arguments)
}

// Done gives the result of a call whose effect was brought about before.
func (p callPolicy) Done(c motorloop.Call) *toolapi.Result {
	return runpolicy.AlreadyDone(p.run, p.entries.AllSteps(), c.ID, c.Tool, c.Arguments)
}

// Risky reports whether the call may do what cannot be undone.
func (p callPolicy) Risky(c motorloop.Call) bool {
	return runpolicy.IsRisky(p.run, c.Tool, c.Arguments)
}
