// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// MaxProposals is how many proposals of runs wait for a decision about one skill. Runs add no more, and the existing ones stay: a later
// proposal does not push out one that a person looks at. It is half of the number of stored revisions, so that the other half remains for
// decided ones.
const MaxProposals = 10

// Undecided returns the revisions that runs proposed and that await a decision, the oldest first: they were not rejected, and are newer
// than every one that spec.approval ever named. A person who approved, or revoked, a newer one has passed over the older ones.
func Undecided(spec *v1alpha1.SkillSpec, status *v1alpha1.SkillStatus, revisions []v1alpha1.SkillRevision) []*v1alpha1.SkillRevision {
	decided := NewestDecided(spec, status, revisions)
	var open []*v1alpha1.SkillRevision
	for i := range revisions {
		if r := &revisions[i]; proposed(r) == 1 && !isRejected(spec, r) && isNewer(r, decided) {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, CompareAge)
	return open
}

// NewestDecided is the new value of status.newestDecided: the former one, unless spec.approval names a newer one by now.
func NewestDecided(spec *v1alpha1.SkillSpec, status *v1alpha1.SkillStatus, revisions []v1alpha1.SkillRevision) *v1alpha1.RevisionSummary {
	newest := status.NewestDecided
	for i := range revisions {
		if r := &revisions[i]; spec.Approval != nil && r.Spec.ContentHash == spec.Approval.ContentHash && isNewer(r, newest) {
			newest = new(Summary(r))
		}
	}
	return newest
}

// Summary is a revision as the status of its skill lists it.
func Summary(r *v1alpha1.SkillRevision) v1alpha1.RevisionSummary {
	sum := v1alpha1.RevisionSummary{Name: r.Name, ContentHash: r.Spec.ContentHash, CreationTime: r.CreationTimestamp}
	if r.Spec.ExtractedFrom != nil {
		sum.RunName = r.Spec.ExtractedFrom.RunName
	}
	return sum
}

// isNewer reports whether a revision is newer than one that may not be there any more, or than none.
func isNewer(r *v1alpha1.SkillRevision, than *v1alpha1.RevisionSummary) bool {
	if than == nil {
		return true
	}
	old := &v1alpha1.SkillRevision{}
	old.Name, old.CreationTimestamp = than.Name, than.CreationTime
	if than.RunName != "" {
		old.Spec.ExtractedFrom = &v1alpha1.ExtractedFrom{RunName: than.RunName}
	}
	return CompareAge(r, old) > 0
}

// AwaitsDecision reports whether no decision about a skill was ever made.
func AwaitsDecision(sk *v1alpha1.Skill) bool {
	return sk.Spec.Approval == nil && len(sk.Spec.Rejections) == 0 && sk.Status.NewestDecided == nil
}

func isRejected(spec *v1alpha1.SkillSpec, r *v1alpha1.SkillRevision) bool {
	return slices.ContainsFunc(spec.Rejections, func(j v1alpha1.SkillRejection) bool { return j.ContentHash == r.Spec.ContentHash })
}
