// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Ref names a tool call.
type Ref struct {
	ID, Tool string
	// Arguments is their beginning in one line.
	Arguments string
	// InFlight is true if the call has no result, or if a program that it left in the background has not ended.
	InFlight bool
	// BrokenOff is true if it was ended from outside, and no model knows of that yet.
	BrokenOff bool
}

// Recorded is a call with its result.
type Recorded struct {
	Call   *v1alpha1.ToolCall
	Result *v1alpha1.ToolResult
}

// Unknown returns the calls of a step of which it is unknown whether they took effect. Calls are made one after the other, and their results
// may be recorded together, so one without a result may have been made. A call that was not approved was not made, nor were those after it.
func Unknown(s *v1alpha1.MotorStep) []Ref {
	var found []Ref
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		r := ResultOf(s, c.ID)
		if r == nil && i > 0 && isHeld(s, s.Spec.ToolCalls[i-1].ID) {
			break
		}
		if r == nil && isHeld(s, c.ID) && LastUnknown(s, c.ID) == nil {
			break
		}
		if !toolapi.HasEffects(c.Tool) || i >= toolapi.MaxCalls || r != nil && r.ErrorCode != toolapi.CodeOutcomeUnknown && r.ErrorCode != toolapi.CodeSkipped {
			continue
		}
		found = append(found, Ref{ID: c.ID, Tool: c.Tool, Arguments: fit.OneLine(c.Arguments, fit.MaxHead), InFlight: r == nil})
	}
	return found
}

// isHeld reports whether a call has no result because it is to be approved, or was not.
func isHeld(s *v1alpha1.MotorStep, callID string) bool {
	a := approvalOf(s, callID)
	return a != nil && a.Outcome != v1alpha1.AskApproved && ResultOf(s, callID) == nil
}

// OpenChecks removes from the calls of a step the checks that are harmless to repeat: those that needed no approval and have no irreversible effect
// outside of the sandbox.
func OpenChecks(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, refs []Ref) []Ref {
	if !s.Spec.Checks {
		return refs
	}
	return slices.DeleteFunc(refs, func(ref Ref) bool {
		i := slices.IndexFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool { return c.ID == ref.ID })
		c := &s.Spec.ToolCalls[i]
		return approvalOf(s, c.ID) == nil && !IsRisky(run, c.Tool, c.Arguments)
	})
}

// IsOpen reports whether neither a person nor the model knows yet how the call went, so that another attempt might repeat its effect.
func (c Ref) IsOpen() bool { return c.InFlight || c.BrokenOff }
