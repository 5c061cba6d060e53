// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/skillstore"
)

// review gathers what there is to know of each revision that nobody has looked at. It reads all of the bytes, so that none is
// offered for approval whose bytes are not those that it names.
func (r *SkillReconciler) review(ctx context.Context, s *skillScope) error {
	var usable []v1alpha1.SkillRevision
	for i := range s.revisions {
		rev := &s.revisions[i]
		var err error
		if rev.Status.ReviewedAt == nil {
			err = r.gather(ctx, s, rev)
		}
		switch {
		case errors.Is(err, skillstore.ErrMissing):
			s.partial = append(s.partial, *rev)
		case errors.Is(err, skillstore.ErrDamaged):
			r.ignore(s, rev, "its bytes are not those that it names")
		case err != nil:
			return err
		default:
			usable = append(usable, *rev)
		}
	}
	s.revisions = usable
	return nil
}

// gather writes into the status of a revision what its files have.
//
// Whoever wrote the files knows how they are looked through. Each parser is bounded, and yet one may have a defect that ends the
// process: that the review begins is written first, so that the process after it does not do the same for ever.
func (r *SkillReconciler) gather(ctx context.Context, s *skillScope, rev *v1alpha1.SkillRevision) error {
	begun := s.memory.begun[rev.UID]
	if skill.IsSetAside(rev) && !begun {
		return nil
	}
	files, err := r.Store.Files(ctx, rev)
	if err != nil {
		return err
	}
	done := r.reviewing(rev.Status.ReviewStarts > 0)
	defer done()
	if !begun {
		if err := r.patchRevision(ctx, rev, func(st *v1alpha1.SkillRevisionStatus) { st.ReviewStarts++ }); err != nil {
			return err
		}
		// As long as this process lives, the review did not end it, whatever else went wrong.
		s.memory.begun[rev.UID] = true
	}
	return r.patchRevision(ctx, rev, func(st *v1alpha1.SkillRevisionStatus) {
		first, latest := st.Advice, st.LatestAdvice
		m := manifestOf(files)
		*st = skill.Facts(files, m.Warnings)
		for _, tool := range skill.Tools(m.AllowedTools) {
			if !slices.Contains(st.Tools, tool) {
				st.Tools = append(st.Tools, tool)
			}
		}
		st.Advice, st.LatestAdvice, st.ReviewedAt = first, latest, &metav1.Time{Time: s.now}
	})
}

// reviewing waits for its turn, and gives what ends it. A second try is made alone: what was looked at beside the files that end the
// process is not set aside with them. A review takes seconds, so that the wait needs no context.
func (r *SkillReconciler) reviewing(again bool) (done func()) {
	if again {
		r.reviews.Lock()
		return r.reviews.Unlock
	}
	r.reviews.RLock()
	return r.reviews.RUnlock
}

// manifestOf is the SKILL.md of files, the zero value if there is none.
func manifestOf(files []skill.File) skill.Manifest {
	for _, f := range files {
		if f.Path != skill.ManifestName {
			continue
		}
		if m, err := skill.ParseManifest(f.Content); err == nil {
			return m
		}
	}
	return skill.Manifest{}
}

// patchRevision writes the status of a revision, unless somebody wrote the revision since it was read.
func (r *SkillReconciler) patchRevision(ctx context.Context, rev *v1alpha1.SkillRevision, change func(*v1alpha1.SkillRevisionStatus)) error {
	before := rev.DeepCopy()
	change(&rev.Status)
	printRevision(&rev.Status)
	if err := r.Status().Patch(ctx, rev, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the status of the revision %s: %w", rev.Name, err)
	}
	return nil
}

// policy says whether spec.policy can be granted, and what an approval binds it by.
func (r *SkillReconciler) policy(_ context.Context, s *skillScope) error {
	p := &s.skill.Spec.Policy
	s.skill.Status.PolicyHash = skill.PolicyHash(p)
	status, reason, message := metav1.ConditionTrue, v1alpha1.ReasonPolicyValid, "The policy can be granted."
	if err := skill.CheckPolicy(p); err != nil {
		status, reason, message = metav1.ConditionFalse, v1alpha1.ReasonPolicyInvalid, "The policy cannot be granted: "+err.Error()+"."
	}
	s.set(v1alpha1.ConditionPolicyValid, status, reason, message)
	return nil
}
