// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// OpenPrograms returns the programs in the background of the attempt whose progress is unknown: their end was not observed, or they were ended from
// outside or lost. The effect of a program goes on after its call, so it is open for as long.
func OpenPrograms(steps []v1alpha1.MotorStep, attempt int32) []Ref {
	var calls []Ref
	var last int32
	for i := range steps {
		if s := &steps[i].Spec; s.Attempt == attempt && s.Type == v1alpha1.StepTurn && !s.Checks {
			last = s.Index
		}
	}
	for i := range steps {
		s := &steps[i]
		if s.Spec.Attempt != attempt {
			continue
		}
		for _, p := range s.Status.Background {
			if c := openProgram(s, p, last); c != nil {
				calls = append(calls, *c)
			}
		}
	}
	return calls
}

// RunsInBackground reports whether a program is in the background of the attempt, according to its steps.
func RunsInBackground(steps []v1alpha1.MotorStep, attempt int32) bool {
	return slices.ContainsFunc(steps, func(s v1alpha1.MotorStep) bool {
		return s.Spec.Attempt == attempt &&
			slices.ContainsFunc(s.Status.Background, func(p v1alpha1.StepProgram) bool { return p.State == v1alpha1.ProgramRunning })
	})
}

// openProgram names the call of a program that is open, nil if it is not. The model has read of an end that was seen in the time of a
// step when it has answered after that.
func openProgram(s *v1alpha1.MotorStep, p v1alpha1.StepProgram, lastTurn int32) *Ref {
	i := slices.IndexFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool { return c.ID == p.CallID })
	if i < 0 {
		return nil
	}
	c := &s.Spec.ToolCalls[i]
	ref := &Ref{ID: c.ID, Tool: c.Tool, Arguments: fit.OneLine(c.Arguments, fit.MaxHead)}
	told := p.FoundIn < lastTurn
	switch {
	case p.State == v1alpha1.ProgramRunning:
		ref.InFlight = true
	case p.State == v1alpha1.ProgramLost, p.State == v1alpha1.ProgramStopped && !told:
		ref.BrokenOff = !told
	default:
		return nil
	}
	return ref
}
