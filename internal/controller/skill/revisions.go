// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/internal/text"
)

// The event of a revision that is not used.
const (
	reasonRevisionIgnored = "RevisionIgnored"
	actionReadRevisions   = "ReadRevisions"
)

// revisions finds the revisions of the skill. It ignores a revision that is not what it claims to be: see foreign.
func (r *Reconciler) revisions(ctx context.Context, s *scope) error {
	var list v1alpha1.SkillRevisionList
	if err := r.List(ctx, &list, client.InNamespace(s.skill.Namespace), client.MatchingLabels{v1alpha1.LabelSkill: v1alpha1.SkillLabel(s.skill.Name)}); err != nil {
		return fmt.Errorf("list revisions: %w", err)
	}
	for i := range list.Items {
		rev := &list.Items[i]
		if !rev.DeletionTimestamp.IsZero() {
			continue
		}
		if problem := foreign(s.skill, rev); problem != "" {
			r.ignore(s, rev, problem)
			continue
		}
		whole, err := isWhole(ctx, r.Heads, rev)
		if err != nil {
			return err
		}
		if whole {
			s.revisions = append(s.revisions, *rev)
		} else {
			s.partial = append(s.partial, *rev)
		}
	}
	s.sort()
	return nil
}

// sort puts the newest revision first.
func (s *scope) sort() {
	slices.SortFunc(s.revisions, func(a, b v1alpha1.SkillRevision) int { return skill.CompareAge(&b, &a) })
}

// foreign returns why a revision is not one of this skill, "" if it is.
func foreign(sk *v1alpha1.Skill, rev *v1alpha1.SkillRevision) string {
	switch {
	case !metav1.IsControlledBy(rev, sk):
		return "its controller is not this Skill"
	case rev.Spec.SkillName != sk.Name:
		return "it says that it is of another skill"
	case skill.HashOf(rev.Spec.Files) != rev.Spec.ContentHash:
		return "its files do not give its contentHash"
	case rev.Name != skillstore.RevisionName(sk.Name, rev.Spec.ContentHash):
		return "its name is not that of its content"
	}
	return ""
}

// ignore reports a revision that is not used, once.
func (r *Reconciler) ignore(s *scope, rev *v1alpha1.SkillRevision, problem string) {
	if s.memory.told[rev.UID] {
		return
	}
	s.memory.told[rev.UID] = true
	r.Recorder.Eventf(s.skill, rev, corev1.EventTypeWarning, reasonRevisionIgnored, actionReadRevisions, "%s",
		text.Printable(fmt.Sprintf("SkillRevision %s is not used: %s.", rev.Name, problem)))
}

// isWhole reports whether the ConfigMaps with the bytes of a revision exist. Their content never changes, and a reader of the bytes compares their
// hashes.
func isWhole(ctx context.Context, heads client.Reader, rev *v1alpha1.SkillRevision) (bool, error) {
	for _, name := range rev.Spec.ConfigMapNames {
		head, err := configMapHead(ctx, heads, rev.Namespace, name)
		if err != nil {
			return false, err
		}
		if head == nil || !metav1.IsControlledBy(head, rev) {
			return false, nil
		}
	}
	return true, nil
}

// configMapHead reads the metadata of a ConfigMap, nil if there is none.
func configMapHead(ctx context.Context, reader client.Reader, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	head := &metav1.PartialObjectMetadata{}
	head.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, head)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the metadata of the ConfigMap %s: %w", name, err)
	}
	return head, nil
}
