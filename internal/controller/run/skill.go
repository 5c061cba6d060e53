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
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

// skill decides once which revision of its skill the run uses, and which policy of the skill applies. From then on the run never looks at the Skill
// again: another approved content, or a revoked approval, changes only runs that begin later.
//
//	Skill and revisions ──► refused for good, or for now ──► held ──► written to the status ──► the next pass works with it
func (r *Reconciler) skill(ctx context.Context, s *pass.Run) (bool, error) {
	if s.Run.Spec.SkillRef == nil || s.Run.Status.Skill != nil {
		return true, nil
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
	if refusal != nil {
		// Packages arrive without help, and so does the review of a skill. A Skill does not.
		refuse(s, refusal, refusal.Final || refusal.Reason == v1alpha1.ReasonSkillNotFound)
		return false, nil
	}
	if err := r.hold(ctx, s.Run, revision); err != nil {
		return false, err
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
	revisions, err := revisionsOf(ctx, r.Live, run)
	if err != nil {
		return nil, nil, err
	}
	return skill, slices.DeleteFunc(revisions, func(rev v1alpha1.SkillRevision) bool {
		return !rev.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(&rev, skill)
	}), nil
}

// revisionsOf lists the revisions of the run's skill. Those of a cache belong to it: the caller must not change them.
func revisionsOf(ctx context.Context, reader client.Reader, run *v1alpha1.MotorRun) ([]v1alpha1.SkillRevision, error) {
	var list v1alpha1.SkillRevisionList
	err := reader.List(ctx, &list, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelSkill: v1alpha1.SkillLabel(run.Spec.SkillRef.Name)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the revisions of the skill %s: %w", run.Spec.SkillRef.Name, err)
	}
	return list.Items, nil
}

func revisionNamed(revisions []v1alpha1.SkillRevision, name string) *v1alpha1.SkillRevision {
	i := slices.IndexFunc(revisions, func(rev v1alpha1.SkillRevision) bool { return rev.Name == name })
	if i < 0 {
		return nil
	}
	return &revisions[i]
}

// hold protects the revision until the run has ended, also if its Skill is deleted: the garbage collector deletes no object that has an owner.
func (r *Reconciler) hold(ctx context.Context, run *v1alpha1.MotorRun, revision *v1alpha1.SkillRevision) error {
	if isHeld(revision, run) {
		return nil
	}
	held := revision.DeepCopy()
	held.OwnerReferences = append(held.OwnerReferences, metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: run.Name, UID: run.UID,
	})
	if err := r.Patch(ctx, held, client.MergeFromWithOptions(revision, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("hold the revision %s: %w", revision.Name, err)
	}
	return nil
}

func isHeld(revision *v1alpha1.SkillRevision, run *v1alpha1.MotorRun) bool {
	return slices.ContainsFunc(revision.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == run.UID })
}

// letGo reverts hold for each revision that the run holds: a pass that held one may have failed after that. It trusts the cache, unless the run has
// ended just now: it may have been so quick that the cache has not seen the beginning.
func (r *Reconciler) letGo(ctx context.Context, s *pass.Run) error {
	if s.Run.Spec.SkillRef == nil {
		return nil
	}
	var reader client.Reader = r.Client
	if !pass.IsFinished(s.Before) {
		reader = r.Live
	}
	revisions, err := revisionsOf(ctx, reader, s.Run)
	if err != nil {
		return err
	}
	for i := range revisions {
		if !isHeld(&revisions[i], s.Run) {
			continue
		}
		if err := r.release(ctx, s.Run, &revisions[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("let go of the revision %s: %w", revisions[i].Name, err)
		}
	}
	return nil
}

// release removes the run's owner reference from a revision, and deletes a revision without any other owner: its Skill is gone, and the garbage
// collector considers only objects with owners.
func (r *Reconciler) release(ctx context.Context, run *v1alpha1.MotorRun, revision *v1alpha1.SkillRevision) error {
	free := revision.DeepCopy()
	free.OwnerReferences = slices.DeleteFunc(free.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == run.UID })
	if len(free.OwnerReferences) == 0 {
		return r.Delete(ctx, free, client.Preconditions{UID: &revision.UID, ResourceVersion: &revision.ResourceVersion})
	}
	return r.Patch(ctx, free, client.MergeFromWithOptions(revision, client.MergeFromWithOptimisticLock{}))
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
