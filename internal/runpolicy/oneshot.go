// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/oneshot"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// codeEnded is the summary of a Oneshot run that succeeded.
const codeEnded = "The code ended."

// codeEndedCut is the summary if the value exceeds its bound.
const codeEndedCut = "The code ended. Its value is longer than %d KiB: head has its beginning, and so has the step %s. Return less, or print it in parts."

// addOneshot ends a Oneshot run with the result of its code.
func (p *Progress) addOneshot(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) {
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		r := calls.ResultOf(s, c.ID)
		if !toolapi.IsOneshot(c.Tool) || r == nil {
			continue
		}
		o := oneshot.Read(r.OK, r.ErrorCode, r.Output)
		p.Value = o.Value
		// The output may be more than a cache has of it.
		p.LastCalls[len(p.LastCalls)-1].Head = fit.CutEncoded(fit.Cut(o.Value, fit.MaxHead), fit.MaxHead)
		if o.Code == "" {
			final := codeEnded
			if o.Cut {
				final = fmt.Sprintf(codeEndedCut, oneshot.MaxValueBytes>>10, s.Name)
			}
			p.Final = new(final + expected(run))
			return
		}
		reason, message := executionFailure(o)
		p.Failure = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryToolFailure, Reason: reason, Message: message}
	}
}

// expected repeats what the run expects of the value, for the reader who judges it.
func expected(run *v1alpha1.MotorRun) string {
	if run.Spec.Code == nil || run.Spec.Code.ExpectedOutput == "" {
		return ""
	}
	return " Expected is: " + run.Spec.Code.ExpectedOutput
}

func executionFailure(o oneshot.Outcome) (reason, message string) {
	switch o.Code {
	case toolapi.ExecutionTimeout:
		return v1alpha1.ReasonExecutionTimeout, "The code did not end in its time (spec.code.timeoutMilliseconds): " + o.Message
	case toolapi.ExecutionBlocked:
		return v1alpha1.ReasonExecutionBlocked, "The code asks for what no Oneshot run has: " + o.Message
	}
	return v1alpha1.ReasonExecutionError, "The code failed: " + o.Message
}

// HasModel reports whether a model decides what the run does. A run without a model uses none of the namespace's slots, and is carried out once.
func HasModel(run *v1alpha1.MotorRun) bool {
	return run.Spec.Mode != v1alpha1.ModeOneshot && run.Spec.Mode != v1alpha1.ModeInstall
}

// maxAsked bounds the attempts that a person may ask for, including the first one. Code that failed fails again.
func maxAsked(run *v1alpha1.MotorRun) int32 {
	if !HasModel(run) {
		return 1
	}
	return max(1, run.Spec.MaxAttempts)
}
