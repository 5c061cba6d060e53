// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// brokenOff returns the calls of a step that were ended half way from outside: they have a result, and it does not show how far they came. A signal
// that ends a program often comes from the same shortage, or the same shutdown, that ends the sandbox.
func brokenOff(s *v1alpha1.MotorStep) []CallRef {
	var found []CallRef
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		r := calls.ResultOf(s, c.ID)
		if r == nil || r.ErrorCode != toolapi.CodeKilled && r.ErrorCode != toolapi.CodeCancelled || !toolapi.HasEffects(c.Tool) {
			continue
		}
		found = append(found, CallRef{ID: c.ID, Tool: c.Tool, Arguments: fit.OneLine(c.Arguments, fit.MaxHead), BrokenOff: true})
	}
	return found
}

// goesOn forgets the calls that were broken off before a turn: the model has read of them before that turn, and acted on them as it saw fit.
func (p *Progress) goesOn() {
	p.Unknown = slices.DeleteFunc(p.Unknown, func(c CallRef) bool { return c.BrokenOff })
}

// isOpen reports whether neither a person nor the model knows yet how the call went, so that another attempt might repeat its effect.
func (c CallRef) isOpen() bool { return c.InFlight || c.BrokenOff }
