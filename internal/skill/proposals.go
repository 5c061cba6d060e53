// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// MaxProposals is how many proposals of runs wait for a decision about one skill. Runs bring no more, and those that there are stay:
// what a person looks at is not pushed out by what comes after it. It is half of the revisions that are kept, so that there is
// room for what was decided.
const MaxProposals = 10

// Undecided gives the revisions that runs proposed and nobody has decided about, the oldest first: they were not rejected, and are
// newer than the one that spec.approval names. Who approved, or revoked, that one has passed over what was there before it.
func Undecided(spec *v1alpha1.SkillSpec, revisions []v1alpha1.SkillRevision) []*v1alpha1.SkillRevision {
	var decided *v1alpha1.SkillRevision
	for i := range revisions {
		if spec.Approval != nil && revisions[i].Spec.ContentHash == spec.Approval.ContentHash {
			decided = &revisions[i]
		}
	}
	var open []*v1alpha1.SkillRevision
	for i := range revisions {
		r := &revisions[i]
		if proposed(r) == 1 && !isRejected(spec, r) && (decided == nil || CompareAge(r, decided) > 0) {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, CompareAge)
	return open
}

// AwaitsDecision says whether nobody has decided anything about a skill.
func AwaitsDecision(spec *v1alpha1.SkillSpec) bool {
	return spec.Approval == nil && len(spec.Rejections) == 0
}

func isRejected(spec *v1alpha1.SkillSpec, r *v1alpha1.SkillRevision) bool {
	return slices.ContainsFunc(spec.Rejections, func(j v1alpha1.SkillRejection) bool { return j.ContentHash == r.Spec.ContentHash })
}
