// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// brokenOff are the calls of a step that something outside of them ended half way: they have a result, and it does not say how
// far they came. A signal that ends a program often comes from the same shortage, or the same shutdown, that ends the sandbox.
func brokenOff(s *v1alpha1.MotorStep) []CallRef {
	var calls []CallRef
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		r := resultOf(s, c.ID)
		if r == nil || r.ErrorCode != toolapi.CodeKilled && r.ErrorCode != toolapi.CodeCancelled || !toolapi.HasEffects(c.Tool) {
			continue
		}
		calls = append(calls, CallRef{ID: c.ID, Tool: c.Tool, Arguments: oneLine(c.Arguments, maxHead), BrokenOff: true})
	}
	return calls
}

// goesOn forgets the calls that were broken off before a turn: the model has read of them before it gave the turn, and dealt with
// them as it saw fit.
func (p *Progress) goesOn() {
	p.Unknown = slices.DeleteFunc(p.Unknown, func(c CallRef) bool { return c.BrokenOff })
}

// isOpen reports whether neither a person nor the model was told yet how the call went, so that another attempt might bring its
// effect about again.
func (c CallRef) isOpen() bool { return c.InFlight || c.BrokenOff }
