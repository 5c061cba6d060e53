// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// step is a step with a result of that text, none if it is empty.
func step(index int32, output string) *v1alpha1.MotorStep {
	s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Index: index}}
	if output != "" {
		s.Status.Results = []v1alpha1.ToolResult{{Output: output}}
	}
	return s
}

func TestStepsThatTheEndedManagerRecordedDoNotCount(t *testing.T) {
	t.Parallel()
	steps := []*v1alpha1.MotorStep{step(1, "a"), step(3, "c"), step(2, "b"), step(4, "")}
	if got := lastDone(steps); got != 3 {
		t.Errorf("the last step that is done is %d, want 3", got)
	}
	if got := doneSteps(steps, 3); got != 0 {
		t.Errorf("%d steps are done after the third, want none", got)
	}
	if got := doneSteps(steps, 1); got != 2 {
		t.Errorf("%d steps are done after the first, want 2", got)
	}
}

func TestTheScriptSaysHowManyCallsWereMadeTwice(t *testing.T) {
	t.Parallel()
	if got, err := repeatedCalls([]*v1alpha1.MotorStep{step(1, "exit code 0"), step(31, "exit code 0\ntwice: 2\n")}); got != 2 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	for _, steps := range [][]*v1alpha1.MotorStep{nil, {step(1, "a")}, {step(31, "twice: many")}} {
		if got, err := repeatedCalls(steps); err == nil {
			t.Errorf("%d, although no step says it", got)
		}
	}
}
