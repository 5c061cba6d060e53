// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// LetGo deletes a revision, with its bytes, unless an unfinished run uses it. It reports whether the revision is gone. A revision that stays is marked:
// runs that have it keep it, and no other one gets it. Keep removes the mark.
//
// wanted reports, past the cache and after the mark, whether the revision is wanted for another reason, and is nil if it cannot be. Such a revision
// stays without a mark. The revision may be from a cache. LetGo does not change it. The error is a conflict if another writer was quicker.
func (h *Holder) LetGo(ctx context.Context, rev *v1alpha1.SkillRevision, wanted func(context.Context) (bool, error)) (gone bool, err error) {
	marked, err := h.mark(ctx, rev)
	if err != nil {
		return client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
	}
	if used, err := isInUse(ctx, h.Live, marked); err != nil || used {
		return false, err
	}
	if wanted != nil {
		if stays, err := wanted(ctx); err != nil {
			return false, err
		} else if stays {
			return false, h.Keep(ctx, marked)
		}
	}
	// The version is that of the mark. If the mark was removed meanwhile, a run may use the revision that the list did not have.
	err = h.Delete(ctx, marked, client.Preconditions{UID: &marked.UID, ResourceVersion: &marked.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("delete the SkillRevision %s: %w", rev.Name, err)
	}
	return true, nil
}

func (h *Holder) mark(ctx context.Context, rev *v1alpha1.SkillRevision) (*v1alpha1.SkillRevision, error) {
	if isMarked(rev) {
		return rev.DeepCopy(), nil
	}
	marked := rev.DeepCopy()
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1alpha1.AnnotationLeaving, "true")
	if err := h.Patch(ctx, marked, client.MergeFromWithOptions(rev, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, fmt.Errorf("mark the SkillRevision %s as leaving: %w", rev.Name, err)
	}
	return marked, nil
}

// Keep removes the mark of a revision that is wanted after all. It changes nothing of one without a mark.
func (h *Holder) Keep(ctx context.Context, rev *v1alpha1.SkillRevision) error {
	if !isMarked(rev) {
		return nil
	}
	// The cache has few annotations: the difference between what it has and none would remove those that it lacks.
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{%q:null}}}`, rev.ResourceVersion, v1alpha1.AnnotationLeaving)
	err := h.Patch(ctx, rev.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("keep the SkillRevision %s: %w", rev.Name, err)
	}
	return nil
}
