// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// RefuseFiles returns why the run cannot have its own files beside those of its skill, nil if it can. Files of the run come after those of the
// skill. They would replace files that a person has approved, or be loaded by them. Where nothing was approved, that is the run's own affair.
func RefuseFiles(run *v1alpha1.MotorRun, pin *v1alpha1.RunSkill, rev *v1alpha1.SkillRevision) *Refusal {
	if !pin.Approved {
		return nil
	}
	places := skill.PlacesOf(rev.Spec.Files)
	for i := range run.Spec.Files {
		if path := run.Spec.Files[i].Path; places.Beside(path) {
			// Another file beside an approved program may be imported by it.
			return finalRefusal(v1alpha1.ReasonSkillPolicyExceeded,
				"spec.files[%d]: %s is where files of the skill %s are, which was approved as it is. Give it another path.", i, path, pin.Name)
		}
		if why := places.Steers(run.Spec.Files[i].Path); why != "" {
			return finalRefusal(v1alpha1.ReasonSkillPolicyExceeded,
				"spec.files[%d]: %s can change what the skill %s does, which was approved as it is. %s", i, run.Spec.Files[i].Path, pin.Name, why)
		}
		for j := range rev.Spec.Files {
			own, theirs := run.Spec.Files[i].Path, rev.Spec.Files[j].Path
			// A file where the skill has a folder, or below one of its files, cannot be put there.
			if own == theirs || strings.HasPrefix(own, theirs+"/") || strings.HasPrefix(theirs, own+"/") {
				return finalRefusal(v1alpha1.ReasonSkillPolicyExceeded,
					"spec.files[%d]: %s is in the way of %s, a file of the skill %s that was approved as it is. Give it another path.", i, own, theirs, pin.Name)
			}
		}
	}
	return nil
}
