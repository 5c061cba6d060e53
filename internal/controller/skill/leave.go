// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/hold"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// leavePause is when a revision is looked at again that a run used of which the cache did not know.
const leavePause = time.Minute

func (r *Reconciler) holder() *hold.Holder { return &hold.Holder{Client: r.Client, Live: r.Live} }

// inUse returns the names of the revisions of a skill that runs in the cache use.
func (r *Reconciler) inUse(ctx context.Context, skill client.ObjectKey) (map[string]bool, error) {
	return hold.InUse(ctx, r.Client, r.indexed, skill)
}

// discard deletes revisions that the status does not name, with their bytes. Those that were to be deleted and are wanted again stay.
func (r *Reconciler) discard(ctx context.Context, s *scope) error {
	// First those that stay: runs wait for them. One that cannot be deleted holds up neither these nor the others.
	var failed []error
	for _, list := range [][]v1alpha1.SkillRevision{s.revisions, s.partial} {
		for i := range list {
			if slices.ContainsFunc(s.surplus, func(rev v1alpha1.SkillRevision) bool { return rev.UID == list[i].UID }) {
				continue
			}
			failed = append(failed, r.holder().Keep(ctx, &list[i]))
		}
	}
	for i := range s.surplus {
		rev := &s.surplus[i]
		var wanted func(context.Context) (bool, error)
		if slices.ContainsFunc(s.partial, func(partial v1alpha1.SkillRevision) bool { return partial.UID == rev.UID }) {
			// A run may have stored the rest of the bytes since the cache was read. The proposal would be lost.
			wanted = func(ctx context.Context) (bool, error) { return isWhole(ctx, r.Live, rev) }
		}
		failed = append(failed, r.letGo(ctx, &s.Pass, rev, wanted))
	}
	return errors.Join(failed...)
}

// letGoFormer deletes the revisions of Skills of that name that are gone, when no run uses them any more. The garbage collector leaves those that runs
// have used, and deletes the others.
func (r *Reconciler) letGoFormer(ctx context.Context, s *pass.Pass, key client.ObjectKey) error {
	former, err := r.former(ctx, key)
	if err != nil || len(former) == 0 {
		return err
	}
	inUse, err := r.inUse(ctx, key)
	if err != nil {
		return err
	}
	var failed []error
	for i := range former {
		if inUse[former[i].Name] {
			// The end of the run leads to another pass. The run must find it without a mark.
			failed = append(failed, r.holder().Keep(ctx, former[i].DeepCopy()))
			continue
		}
		failed = append(failed, r.letGo(ctx, s, &former[i], nil))
	}
	return errors.Join(failed...)
}

// former lists the revisions that were of a Skill of that name and are of none, as far as runs have used them. They belong to the cache.
func (r *Reconciler) former(ctx context.Context, key client.ObjectKey) ([]v1alpha1.SkillRevision, error) {
	var list v1alpha1.SkillRevisionList
	err := r.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingLabels{v1alpha1.LabelSkill: v1alpha1.SkillLabel(key.Name)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the revisions of the skill %s: %w", key.Name, err)
	}
	sk := &v1alpha1.Skill{}
	if err := r.Get(ctx, key, sk, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the Skill %s: %w", key.Name, err)
	}
	former := leftBehind(list.Items, key.Name, sk.UID)
	if len(former) == 0 {
		return nil, nil
	}
	// A new Skill of the name may not be in the cache yet, while its revision is.
	live := &v1alpha1.Skill{}
	if err := r.Live.Get(ctx, key, live); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get the Skill %s: %w", key.Name, err)
	}
	return leftBehind(former, key.Name, live.UID), nil
}

// leftBehind selects from revisions those that runs have used and that are not of the Skill with that UID, "" if there is none.
func leftBehind(revisions []v1alpha1.SkillRevision, skill string, uid types.UID) []v1alpha1.SkillRevision {
	var list []v1alpha1.SkillRevision
	for i := range revisions {
		rev := &revisions[i]
		owner := metav1.GetControllerOfNoCopy(rev)
		if rev.DeletionTimestamp.IsZero() && rev.Spec.SkillName == skill && hold.WasHeld(rev) && (owner == nil || owner.UID != uid) {
			list = append(list, *rev)
		}
	}
	return list
}

// letGo deletes a revision unless a run uses it, or it is wanted for another reason.
func (r *Reconciler) letGo(ctx context.Context, s *pass.Pass, rev *v1alpha1.SkillRevision, wanted func(context.Context) (bool, error)) error {
	gone, err := r.holder().LetGo(ctx, rev, wanted)
	if err == nil && !gone {
		s.Wake(s.Now.Add(leavePause))
	}
	return err
}
