// SPDX-License-Identifier: Apache-2.0

// Package store keeps the files of skills: SkillRevisions, and the ConfigMaps that hold their bytes.
//
//	Skill ◄─ owner ─ SkillRevision NAME-<12 hex digits> ◄─ owner ─ ConfigMap NAME-<12 hex digits>-0, -1 …
//
// The revision is written first, as it owns the ConfigMaps. One whose ConfigMaps are not all there is not used.
package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// hashDigits is how many digits of a content's hash are in names.
const hashDigits = 12

var (
	// ErrMissing is the error for a ConfigMap that is not there. Putting the files again completes a revision.
	ErrMissing = errors.New("the bytes of the files are not all there")
	// ErrDamaged is the error for bytes that are not those that were stored.
	ErrDamaged = errors.New("the bytes of the files are not those that were stored")
	// ErrTaken is the error for an object of that name with another owner.
	ErrTaken = errors.New("the name is taken")
	// ErrFormer is the error for an object of that name that belongs to an earlier owner of the same name, and is deleted with it. A retry is
	// worthwhile.
	ErrFormer = errors.New("it is going to be deleted")
)

// Store keeps revisions.
type Store struct {
	// Client writes. It must not read ConfigMaps from a cache.
	Client client.Client
	// Live reads past any cache.
	Live client.Reader
}

// RevisionName is the name of the revision of a skill with that content.
func RevisionName(name, contentHash string) string {
	digits := strings.TrimPrefix(contentHash, "sha256:")
	return name + "-" + digits[:min(len(digits), hashDigits)]
}

// Put stores files, as skill.Check returned them, as a revision of the skill, or completes the revision that they have. Callers set
// Description, Origin and ExtractedFrom of the spec; a revision that exists already retains its own.
func (s *Store) Put(ctx context.Context, owner *v1alpha1.Skill, spec v1alpha1.SkillRevisionSpec, files []skill.File) (*v1alpha1.SkillRevision, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b skill.File) int { return cmp.Compare(a.Path, b.Path) })
	content, size := make([]io.Reader, 0, len(files)), 0
	for _, f := range files {
		content, size = append(content, bytes.NewReader(f.Content)), size+len(f.Content)
	}
	spec.SkillName, spec.Files = owner.Name, skill.Listed(files)
	spec.ContentHash = skill.HashOf(spec.Files)
	name := RevisionName(owner.Name, spec.ContentHash)
	spec.ConfigMapNames = chunkNames(name, size)
	rev := &v1alpha1.SkillRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: owner.Namespace,
			Labels:          map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelSkill: v1alpha1.SkillLabel(owner.Name)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("Skill"))},
		},
		Spec: spec,
	}
	want := rev.DeepCopy()
	err := s.Client.Create(ctx, rev)
	adopted := apierrors.IsAlreadyExists(err)
	if adopted {
		rev, err = s.adopt(ctx, want)
	} else if err != nil {
		err = fmt.Errorf("create the SkillRevision %s: %w", name, err)
	}
	if err != nil {
		return nil, err
	}
	ref := *metav1.NewControllerRef(rev, v1alpha1.GroupVersion.WithKind("SkillRevision"))
	labels := map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSkill, v1alpha1.LabelSkill: v1alpha1.SkillLabel(owner.Name)}
	if _, err := writeChunks(ctx, s.Client, ref, rev.Namespace, name, labels, io.MultiReader(content...), size); err != nil {
		return nil, err
	}
	if adopted {
		// Before the bytes were all there, the revision may have been marked to be deleted. Who marked it looks for the bytes after that.
		kept, err := s.adopt(ctx, want)
		if err == nil && kept.UID != rev.UID {
			// The bytes belong to the one before, and are deleted with it.
			return nil, fmt.Errorf("the SkillRevision %s was deleted, and made again meanwhile: %w", name, ErrFormer)
		}
		return kept, err
	}
	return rev, nil
}

// adopt returns the revision of the wanted one's name, if it is the same one of the same skill. If it was about to be deleted, it stays.
func (s *Store) adopt(ctx context.Context, want *v1alpha1.SkillRevision) (rev *v1alpha1.SkillRevision, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if rev, err = s.same(ctx, want); err != nil {
			return err
		}
		if _, leaves := rev.Annotations[v1alpha1.AnnotationLeaving]; !leaves {
			return nil
		}
		// The version keeps the mark of a later pass, and the deletion of who made the mark fails by the new one.
		base := rev.DeepCopy()
		delete(rev.Annotations, v1alpha1.AnnotationLeaving)
		if err := s.Client.Patch(ctx, rev, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("keep the SkillRevision %s: %w", rev.Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rev, nil
}

// same returns the revision of the wanted one's name, if it is the same one of the same skill.
func (s *Store) same(ctx context.Context, want *v1alpha1.SkillRevision) (*v1alpha1.SkillRevision, error) {
	var there v1alpha1.SkillRevision
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(want), &there); err != nil {
		return nil, fmt.Errorf("get the SkillRevision %s: %w", want.Name, err)
	}
	if err := checkOwner("SkillRevision", &there, want.OwnerReferences[0]); err != nil {
		return nil, err
	}
	if there.Spec.ContentHash != want.Spec.ContentHash || skill.HashOf(there.Spec.Files) != want.Spec.ContentHash ||
		!slices.Equal(there.Spec.ConfigMapNames, want.Spec.ConfigMapNames) {
		return nil, fmt.Errorf("the SkillRevision %s has other files: %w", want.Name, ErrTaken)
	}
	return &there, nil
}

// EnsureSkill returns the skill of that name. If there is none it makes one for the files that a run wrote: without an approval and without
// a source.
func (s *Store) EnsureSkill(
	ctx context.Context, namespace, name string, run types.UID, credentials []v1alpha1.SkillCredential,
) (sk *v1alpha1.Skill, created bool, err error) {
	sk = &v1alpha1.Skill{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace,
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelRunUID: string(run)},
		},
		Spec: v1alpha1.SkillSpec{Policy: v1alpha1.SkillPolicy{Credentials: credentials}},
	}
	switch err := s.Client.Create(ctx, sk); {
	case err == nil:
		return sk, true, nil
	case !apierrors.IsAlreadyExists(err):
		return nil, false, fmt.Errorf("create the Skill %s: %w", name, err)
	}
	there := &v1alpha1.Skill{}
	if err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, there); err != nil {
		return nil, false, fmt.Errorf("get the Skill %s: %w", name, err)
	}
	return there, false, nil
}
