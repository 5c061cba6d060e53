// SPDX-License-Identifier: Apache-2.0

// Package waits says what of a skill waits for a person.
package waits

import (
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// decisions are what a skill waits for, by the reason of its condition Approved.
var decisions = map[string]string{
	v1alpha1.ReasonContentChanged:  "an approval of the changed files",
	v1alpha1.ReasonPolicyChanged:   "an approval of the changed policy",
	v1alpha1.ReasonApprovalExpired: "another approval, the last one ended",
	v1alpha1.ReasonContentUnknown:  "an approval of files that are there",
	v1alpha1.ReasonReviewSetAside:  "a person who reads the files, which the operator could not look through",
}

// Of is what of a skill waits for a person: the decisions, and a correction of what stands in its way. It is empty if nothing does.
func Of(s *v1alpha1.Skill) []string {
	waits := Decisions(s)
	if stalled := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue &&
		stalled.Reason != v1alpha1.ReasonReviewSetAside {
		waits = append(waits, "a correction ("+stalled.Reason+")")
	}
	return waits
}

// Decisions are those that a skill waits for, of people who may approve skills. It is empty if it waits for none.
func Decisions(s *v1alpha1.Skill) []string {
	var waits []string
	subject := ""
	switch a := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionApproved); {
	case a == nil || a.Status == metav1.ConditionTrue:
	case a.Reason == v1alpha1.ReasonAwaitingApproval:
		subject = s.Status.RevisionName
		waits = append(waits, "an approval of "+subject)
	case a.Reason == v1alpha1.ReasonContentUnknown && s.Status.State == v1alpha1.SkillPendingReview:
		// The source of an approval out of Git was not read yet.
	case decisions[a.Reason] != "":
		waits = append(waits, decisions[a.Reason])
	}
	switch open := slices.DeleteFunc(proposals(s), func(r *v1alpha1.SkillRevision) bool { return r.Name == subject }); len(open) {
	case 0:
	case 1:
		waits = append(waits, fmt.Sprintf("a decision about %s of the run %s", open[0].Name, open[0].Spec.ExtractedFrom.RunName))
	default:
		waits = append(waits, fmt.Sprintf("decisions about %d proposals of runs", len(open)))
	}
	return waits
}

// proposals are the revisions of a skill that runs proposed and that no decision was made about, as its status lists them.
func proposals(s *v1alpha1.Skill) []*v1alpha1.SkillRevision {
	revisions := make([]v1alpha1.SkillRevision, len(s.Status.Revisions))
	for i, known := range s.Status.Revisions {
		r := &revisions[i]
		r.Name, r.CreationTimestamp, r.Spec.ContentHash = known.Name, known.CreationTime, known.ContentHash
		if known.RunName != "" {
			r.Spec.ExtractedFrom = &v1alpha1.ExtractedFrom{RunName: known.RunName}
		}
	}
	return skill.Undecided(&s.Spec, &s.Status, revisions)
}
