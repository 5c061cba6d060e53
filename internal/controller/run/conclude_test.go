// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// The result of every run with skills contains their outcome, however the run ended.
func TestResultHasTheSkills(t *testing.T) {
	t.Parallel()
	skills := &v1alpha1.SkillsResult{
		Created:  []v1alpha1.ProposedSkill{{Name: "mail", RevisionName: "mail-0123456789ab", ChangedFiles: 2}},
		Rejected: []v1alpha1.RejectedSkill{{Path: "skills/x", Message: "it cannot be read"}},
	}
	for _, phase := range []v1alpha1.RunPhase{v1alpha1.PhaseCompleted, v1alpha1.PhaseFailed} {
		s := &pass.Run{Pass: pass.Pass{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, Run: &v1alpha1.MotorRun{}, Progress: runpolicy.Progress{Skills: skills}}
		if diff := cmp.Diff(skills, result(s, &runpolicy.End{Phase: phase}).Skills); diff != "" {
			t.Errorf("%s (-want +got):\n%s", phase, diff)
		}
		s.Progress.Skills = nil
		if r := result(s, &runpolicy.End{Phase: phase}); r.Skills != nil {
			t.Errorf("%s: of nothing it shows %+v", phase, r.Skills)
		}
	}
}
