// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/hold"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

// skill decides once which revision of its skill the run uses, and which policy of the skill applies. From then on the run never looks at the Skill
// again: another approved content, or a revoked approval, changes only runs that begin later.
//
//	Skill and revisions ──► refused for good, or for now ──► written to the status ──► the next pass confirms it and works with it
func (r *Reconciler) skill(ctx context.Context, s *pass.Run) (bool, error) {
	if s.Run.Spec.SkillRef == nil {
		return true, nil
	}
	if s.Run.Status.Skill != nil {
		return r.confirm(ctx, s)
	}
	skill, revisions, err := r.readSkill(ctx, s.Run)
	if err != nil {
		return false, err
	}
	pin, refusal := reach.PinSkill(s.Run, skill, revisions, s.Now)
	var revision *v1alpha1.SkillRevision
	if refusal == nil {
		if revision = revisionNamed(revisions, pin.RevisionName); revision == nil {
			return false, fmt.Errorf("the skill %s has no revision %s", pin.Name, pin.RevisionName)
		}
		refusal = reach.RefuseFiles(s.Run, pin, revision)
	}
	if refusal == nil && hold.IsLeaving(revision) {
		refusal = &reach.Refusal{Reason: v1alpha1.ReasonSkillNotFound, Message: fmt.Sprintf(
			"The SkillRevision %s of the skill %s is about to be deleted. The run starts if it stays.", pin.RevisionName, pin.Name)}
	}
	if refusal != nil {
		// Packages arrive without help, and so does the review of a skill. A Skill does not.
		refuse(s, refusal, refusal.Final || refusal.Reason == v1alpha1.ReasonSkillNotFound)
		return false, nil
	}
	s.Run.Status.Skill = pin
	s.Message = fmt.Sprintf("The run uses revision %s of the skill %s.", pin.RevisionName, pin.Name)
	// No object may be created for the run from a decision that is not written yet: the next pass could find another approval.
	return false, nil
}

// readSkill reads the run's skill past the cache, nil if there is none, and those of its own revisions that are not being deleted. An approval that
// was revoked a moment ago counts as revoked.
func (r *Reconciler) readSkill(ctx context.Context, run *v1alpha1.MotorRun) (*v1alpha1.Skill, []v1alpha1.SkillRevision, error) {
	skill := &v1alpha1.Skill{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: run.Spec.SkillRef.Name}, skill)
	if apierrors.IsNotFound(err) || err == nil && !skill.DeletionTimestamp.IsZero() {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get Skill %s: %w", run.Spec.SkillRef.Name, err)
	}
	var list v1alpha1.SkillRevisionList
	if err := r.Live.List(ctx, &list, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelSkill: v1alpha1.SkillLabel(skill.Name)}); err != nil {
		return nil, nil, fmt.Errorf("list the revisions of the skill %s: %w", skill.Name, err)
	}
	return skill, slices.DeleteFunc(list.Items, func(rev v1alpha1.SkillRevision) bool {
		return !rev.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(&rev, skill)
	}), nil
}

func revisionNamed(revisions []v1alpha1.SkillRevision, name string) *v1alpha1.SkillRevision {
	i := slices.IndexFunc(revisions, func(rev v1alpha1.SkillRevision) bool { return rev.Name == name })
	if i < 0 {
		return nil
	}
	return &revisions[i]
}

// confirm looks once, when the status names the revision, whether that is still there for the run. Otherwise the run chooses again. An accepted run
// keeps its revision.
func (r *Reconciler) confirm(ctx context.Context, s *pass.Run) (bool, error) {
	if pass.IsAccepted(s.Run) {
		return true, nil
	}
	confirmed := r.confirmed.Of(s.Run)
	if *confirmed {
		return true, nil
	}
	h := hold.Holder{Client: r.Client, Live: r.Live}
	ok, err := h.Confirm(ctx, s.Run)
	if err != nil {
		return false, err
	}
	if !ok {
		pin := s.Run.Status.Skill
		s.Message = fmt.Sprintf("Revision %s of the skill %s was deleted when the run began to use it. The run looks at the skill again.", pin.RevisionName, pin.Name)
		s.Run.Status.Skill = nil
		return false, nil
	}
	*confirmed = true
	return true, nil
}

// awaitingSkill maps a Skill to the runs that wait for it.
func (r *Reconciler) awaitingSkill(ctx context.Context, o client.Object) []reconcile.Request {
	return r.chosen(ctx, o, func(_ *v1alpha1.MotorCortex, runs []v1alpha1.MotorRun) (list []*v1alpha1.MotorRun) {
		for i := range runs {
			ref := runs[i].Spec.SkillRef
			if ref != nil && ref.Name == o.GetName() && runs[i].Status.Skill == nil && !pass.IsFinished(&runs[i]) {
				list = append(list, &runs[i])
			}
		}
		return list
	})
}
