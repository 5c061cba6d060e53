// SPDX-License-Identifier: Apache-2.0

// Package hold keeps the revisions of skills for as long as runs use them, without a write of the revision for each run.
//
// A revision that a run uses has its Namespace as another owner. The garbage collector deletes no object that has an owner left, however its Skill is
// deleted. That owner is added once and stays. So it is a controller that deletes a revision which is not wanted any more:
//
//	run       status.skill is written ─► the revision is read past the cache: neither gone nor leaving ─► the run is accepted
//	revision  not wanted, and no run in the cache ─► marked as leaving ─► no run in a list past the cache ─► deleted as it was marked
//
// So it is with one whose bytes are not all there: who stores them looks for the mark afterwards, and removes it (skill/store).
//
// Each side writes before it reads. So at least one of them sees the other, in whatever order and in whichever leader they act.
package hold

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The Namespace is an owner of each revision that is held. A Role for one namespace can grant this right, too.
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// Holder holds revisions for runs, and deletes those that no run uses.
type Holder struct {
	client.Client
	// Live reads past the cache.
	Live client.Reader
}

// Confirm reports whether the revision that the status of a run names is the run's until its end. If not, it is gone, or it is about to go and was so
// when the run chose it. The status must be written: a name that is only about to be written protects nothing.
func (h *Holder) Confirm(ctx context.Context, run *v1alpha1.MotorRun) (bool, error) {
	rev := &v1alpha1.SkillRevision{}
	err := h.Live.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: run.Status.Skill.RevisionName}, rev)
	if apierrors.IsNotFound(err) || err == nil && IsLeaving(rev) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get the SkillRevision %s: %w", run.Status.Skill.RevisionName, err)
	}
	if slices.ContainsFunc(rev.OwnerReferences, isNamespace) {
		return true, nil
	}
	err = h.own(ctx, rev)
	return err == nil, client.IgnoreNotFound(err)
}

// own makes the Namespace of a revision an owner of it. The lock prevents that this undoes the mark of a revision that leaves.
func (h *Holder) own(ctx context.Context, rev *v1alpha1.SkillRevision) error {
	ns := &corev1.Namespace{}
	if err := h.Live.Get(ctx, client.ObjectKey{Name: rev.Namespace}, ns); err != nil {
		return fmt.Errorf("get the Namespace %s, the owner of revisions that are used: %w", rev.Namespace, err)
	}
	held := rev.DeepCopy()
	held.OwnerReferences = append(held.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: ns.Name, UID: ns.UID})
	if err := h.Patch(ctx, held, client.MergeFromWithOptions(rev, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("hold the SkillRevision %s: %w", rev.Name, err)
	}
	return nil
}

// IsLeaving reports whether a revision is being deleted, or is about to be. No run may begin to use it.
func IsLeaving(rev *v1alpha1.SkillRevision) bool {
	return !rev.DeletionTimestamp.IsZero() || isMarked(rev)
}

func isMarked(rev *v1alpha1.SkillRevision) bool {
	_, marked := rev.Annotations[v1alpha1.AnnotationLeaving]
	return marked
}

// WasHeld reports whether a run has used a revision, so that the garbage collector leaves it to its controller. Version 0.2 made each run an owner.
func WasHeld(rev *v1alpha1.SkillRevision) bool {
	return slices.ContainsFunc(rev.OwnerReferences, func(o metav1.OwnerReference) bool { return isNamespace(o) || isRun(o) })
}

func isNamespace(o metav1.OwnerReference) bool { return o.APIVersion == "v1" && o.Kind == "Namespace" }

func isRun(o metav1.OwnerReference) bool {
	return o.APIVersion == v1alpha1.GroupVersion.String() && o.Kind == "MotorRun"
}
