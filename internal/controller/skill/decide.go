// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

const (
	// maxRevisions bounds the revisions of a skill that are retained, and that the status lists.
	maxRevisions = 20
	// partialAge is how long a revision may lack bytes before it is deleted: a writer does not take that long to store one.
	partialAge = time.Hour
)

// decide compares the approved content with the present one.
func (r *Reconciler) decide(ctx context.Context, s *scope) error {
	// The status is the one before this pass, as people read it: an approval was made in view of that.
	v := skill.Decide(skill.Observation{
		Source: s.source, Revisions: s.revisions, Spec: &s.skill.Spec, Status: &s.before.Status, Now: s.Now,
	})
	s.verdict = v
	s.Wake(v.WakeAt)
	st := &s.skill.Status
	st.Approved = v.Record
	approved := metav1.ConditionFalse
	if v.State == v1alpha1.SkillApproved {
		approved = metav1.ConditionTrue
	}
	s.set(v1alpha1.ConditionApproved, approved, v.Reason, v.Message)
	st.RevisionName, st.ContentHash, st.Description, st.Review = "", "", "", nil
	if v.Revision != nil {
		st.RevisionName, st.ContentHash, st.Description = v.Revision.Name, v.Revision.Spec.ContentHash, v.Revision.Spec.Description
	}
	switch {
	case v.Revision == nil:
		s.set(v1alpha1.ConditionReviewed, metav1.ConditionFalse, v1alpha1.ReasonNoRevision, "There are no files yet.")
	case skill.IsSetAside(v.Revision):
		s.set(v1alpha1.ConditionReviewed, metav1.ConditionFalse, v1alpha1.ReasonReviewSetAside, skill.SetAside(v.Revision))
	case v.Revision.Status.ReviewTime == nil:
		s.set(v1alpha1.ConditionReviewed, metav1.ConditionFalse, v1alpha1.ReasonReviewing, fmt.Sprintf("The files of %s are being looked at.", v.Revision.Name))
	default:
		st.Review = skill.ReviewPolicy(v.Revision, &s.skill.Spec.Policy)
		s.set(v1alpha1.ConditionReviewed, metav1.ConditionTrue, v1alpha1.ReasonFactsGathered,
			fmt.Sprintf("What the files of %s have is in its status.", v.Revision.Name))
	}
	if len(s.revisions) > maxRevisions || len(s.partial) > 0 {
		var err error
		if s.inUse, err = r.inUse(ctx, client.ObjectKeyFromObject(s.skill)); err != nil {
			return err
		}
	}
	s.retain()
	return nil
}

// retain lists the revisions that can be approved, and notes those that are too many or were never completed.
func (s *scope) retain() {
	st := &s.skill.Status
	st.NewestDecided = skill.NewestDecided(&s.skill.Spec, st, s.revisions)
	proposed := false
	kept := make([]*v1alpha1.SkillRevision, 0, len(s.revisions))
	needed := make(map[string]bool, len(s.revisions))
	// If runs brought too many at the same moment, the oldest of them remain: a person looks at those.
	undecided := skill.Undecided(&s.skill.Spec, st, s.revisions)
	for _, rev := range undecided[:min(len(undecided), skill.MaxProposals)] {
		needed[rev.Name] = true
	}
	for i := range s.revisions {
		rev := &s.revisions[i]
		newest := rev.Spec.ExtractedFrom != nil && !proposed
		proposed = proposed || rev.Spec.ExtractedFrom != nil
		needed[rev.Name] = needed[rev.Name] || newest || s.needs(rev)
		kept = append(kept, rev)
	}
	// The oldest is dropped first, and a revision that a run still uses is dropped from the list before one that is needed.
	kept = s.dropOldest(kept, func(rev *v1alpha1.SkillRevision) bool { return !needed[rev.Name] && !s.inUse[rev.Name] }, true)
	kept = s.dropOldest(kept, func(rev *v1alpha1.SkillRevision) bool { return !needed[rev.Name] }, false)
	st.Revisions = nil
	for _, rev := range kept[:min(len(kept), maxRevisions)] {
		st.Revisions = append(st.Revisions, skill.Summary(rev))
	}
	for i := range s.partial {
		rev := &s.partial[i]
		end := rev.CreationTimestamp.Add(partialAge)
		switch {
		case s.needs(rev) || s.inUse[rev.Name]:
		case s.Now.Before(end):
			s.Wake(end)
		default:
			s.surplus = append(s.surplus, *rev)
		}
	}
}

// dropOldest shortens a list, the newest first, to maxRevisions, as far as revisions may go.
func (s *scope) dropOldest(list []*v1alpha1.SkillRevision, mayGo func(*v1alpha1.SkillRevision) bool, discard bool) []*v1alpha1.SkillRevision {
	for i := len(list) - 1; i >= 0 && len(list) > maxRevisions; i-- {
		if !mayGo(list[i]) {
			continue
		}
		if discard {
			s.surplus = append(s.surplus, *list[i])
		}
		list = append(list[:i:i], list[i+1:]...)
	}
	return list
}

// needs reports whether the status or the spec speaks of a revision.
func (s *scope) needs(rev *v1alpha1.SkillRevision) bool {
	st, hash := &s.skill.Status, rev.Spec.ContentHash
	switch {
	case s.skill.Spec.Approval != nil && s.skill.Spec.Approval.ContentHash == hash,
		st.Approved != nil && st.Approved.ContentHash == hash,
		st.Source != nil && st.Source.ContentHash == hash,
		st.RevisionName == rev.Name:
		return true
	}
	return false
}
