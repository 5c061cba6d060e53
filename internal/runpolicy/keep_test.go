// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestKeepOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec v1alpha1.MotorRunSpec
		want v1alpha1.RunKeep
	}{
		"before the field":         {v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeAgentic}, v1alpha1.KeepChanges},
		"changes":                  {v1alpha1.MotorRunSpec{Keep: v1alpha1.KeepChanges}, v1alpha1.KeepChanges},
		"artifacts":                {v1alpha1.MotorRunSpec{Keep: v1alpha1.KeepArtifacts}, v1alpha1.KeepArtifacts},
		"nothing":                  {v1alpha1.MotorRunSpec{Keep: v1alpha1.KeepNothing}, v1alpha1.KeepNothing},
		"a review":                 {v1alpha1.MotorRunSpec{Keep: v1alpha1.KeepChanges, SkillReview: true}, v1alpha1.KeepArtifacts},
		"a review without a trace": {v1alpha1.MotorRunSpec{Keep: v1alpha1.KeepNothing, SkillReview: true}, v1alpha1.KeepNothing},
		"code":                     {v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeOneshot, Keep: v1alpha1.KeepChanges}, v1alpha1.KeepNothing},
	} {
		if got := KeepOf(&v1alpha1.MotorRun{Spec: tt.spec}); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
