// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A run that resumes after a wait has its data from before: its results are marked from then on only if one of them came from outside.
func TestRunIsTaintedByWhatCameIn(t *testing.T) {
	run := enginetest.ReadyRun()
	for from, want := range map[toolapi.Provenance]bool{toolapi.ProvenanceInternal: false, toolapi.ProvenanceUser: false, toolapi.ProvenanceWeb: true} {
		step := v1alpha1.MotorStep{Status: v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{{CallID: "a1-s1-c0", Provenance: string(from)}}}}
		if got, err := tainted(t.Context(), nil, run, []v1alpha1.MotorStep{step}); err != nil || got != want {
			t.Errorf("%s: tainted %t, %v", from, got, err)
		}
	}
}

// Files of an untrusted skill may contain anything.
func TestRunIsTaintedByItsSkill(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pin  *v1alpha1.RunSkill
		want bool
	}{
		"no skill":     {nil, false},
		"approved":     {&v1alpha1.RunSkill{Approved: true}, false},
		"not approved": {&v1alpha1.RunSkill{}, true},
	} {
		run := enginetest.ReadyRun()
		run.Status.Skill = tt.pin
		if got, err := tainted(t.Context(), nil, run, nil); err != nil || got != tt.want {
			t.Errorf("%s: tainted %t, %v", name, got, err)
		}
	}
	run := enginetest.ReadyRun()
	run.Status.Skill, run.Spec.SkillReview = &v1alpha1.RunSkill{Approved: true}, true
	if got, err := tainted(t.Context(), nil, run, nil); err != nil || !got {
		t.Errorf("approved, and reviewed: tainted %t, %v", got, err)
	}
}
