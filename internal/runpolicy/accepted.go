// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// acceptedBy returns the value of Progress.Accepted after a step. Until the checks of an accepted call have passed, Claimed retains its arguments.
func (p *Progress) acceptedBy(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) *toolapi.FinishArgs {
	if s.Spec.Checks {
		if slices.ContainsFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool { r := calls.ResultOf(s, c.ID); return r == nil || !r.OK }) {
			return nil
		}
		return p.Claimed
	}
	p.Claimed = claimOf(s)
	if p.Claimed == nil || len(reach.DemandsOf(run).Commands) > 0 {
		return nil
	}
	return p.Claimed
}

// claimOf returns the arguments of the accepted finish call of a step, nil if there is none or it claims no success.
func claimOf(s *v1alpha1.MotorStep) *toolapi.FinishArgs {
	for _, c := range s.Spec.ToolCalls {
		if r := calls.ResultOf(s, c.ID); c.Tool != toolapi.ToolFinish || r == nil || !r.OK {
			continue
		}
		if args, err := toolapi.ParseFinish(c.Arguments); err == nil && args.Status == toolapi.FinishSucceeded {
			return &args
		}
		return nil
	}
	return nil
}

// acceptedEnd returns the end of a run whose model called finish with nothing more to satisfy. Only the step that records it is missing. A failure
// between the two costs nothing that was done: the next attempt would do all of the task again.
func acceptedEnd(o Observation) *End {
	a := o.Progress.Accepted
	if a == nil {
		return nil
	}
	e := &End{Phase: v1alpha1.PhaseCompleted, Reason: v1alpha1.ReasonCompleted, Message: a.Summary}
	if len(reach.DemandsOf(o.Run).Schemas) > 0 {
		e.Value = string(a.Value)
	}
	return e
}

// isUnproven reports whether a text that ends an attempt without an accepted finish call before it is no success, because something must hold.
func isUnproven(run *v1alpha1.MotorRun) bool {
	d := reach.DemandsOf(run)
	return HasModel(run) && len(d.Files)+len(d.Commands)+len(d.Schemas) > 0
}

// unproven returns the outcome of such an attempt. A replica of a release before spec.accept treats the last text of the model as the end.
func unproven() *v1alpha1.StepOutcome {
	return &v1alpha1.StepOutcome{
		Category: v1alpha1.CategoryIncomplete, Reason: v1alpha1.ReasonAcceptanceFailed, Retryable: true,
		Message: "The attempt was ended by a manager of an earlier release, which does not look at what spec.accept asks for. It is unknown whether the task is done.",
	}
}
