// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/objects"
)

// lookAgain is how long the last state of a grant that was read or written is trusted. Only the manager writes grants. That of a run which is idle is looked
// at when it is renewed.
const lookAgain = 30 * time.Second

// labelsOf find the grants of all runs, and that of one.
func labelsOf(runUID string) labels.Set {
	return labels.Set{
		v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant, v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelRunUID: runUID,
	}
}

// write updates the Secret to the wanted grant, with one write at most. done is false if another writer changed the Secret meanwhile; then the next
// pass tries again.
func (g *Granter) write(ctx context.Context, s *pass.Run, st *memory, want *grant.Grant) (done bool, err error) {
	if st.written != nil && (isIdle(s) || s.Now.Sub(st.lookedAt) < lookAgain) && stands(st.written, want, s.Now) {
		return true, nil
	}
	key := client.ObjectKey{Namespace: g.Sandbox.Namespace, Name: grant.SecretName(want.RunUID)}
	var secret corev1.Secret
	err = g.Live.Get(ctx, key, &secret)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get the grant: %w", err)
	}
	found := err == nil
	st.version = versionOf(&secret)
	if found && secret.Type != grant.SecretType {
		// The type cannot be changed.
		s.Wake(s.Now.Add(pass.ConflictPause))
		return false, g.remove(ctx, s.Run.UID, st)
	}
	have, err := grant.Decode(secret.Data)
	if err != nil {
		// Not there, or not readable, which is the same: it is written anew.
		have = nil
	}
	if have != nil && objects.HasLabels(&secret, labelsOf(want.RunUID)) && stands(have, want, s.Now) {
		st.written, st.lookedAt = have, s.Now
		return true, nil
	}
	if want.CA, err = caOf(have, s.Run, s.Now); err != nil {
		return false, err
	}
	if err := g.save(ctx, &secret, key, found, want); err != nil {
		st.version = nil
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
			s.Wake(s.Now.Add(pass.ConflictPause))
			return false, nil
		}
		return false, fmt.Errorf("write the grant: %w", err)
	}
	st.written, st.lookedAt, st.version = want, s.Now, versionOf(&secret)
	return true, nil
}

// save writes the grant into the Secret that was found, or into a new one. Afterwards secret has the content that the API server has.
func (g *Granter) save(ctx context.Context, secret *corev1.Secret, key client.ObjectKey, found bool, want *grant.Grant) error {
	data, err := want.Encode()
	if err != nil {
		return err
	}
	if found {
		secret.Data = data
		secret.Labels = labels.Merge(secret.Labels, labelsOf(want.RunUID))
		return g.Update(ctx, secret)
	}
	*secret = corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: labelsOf(want.RunUID)},
		Type:       grant.SecretType, Data: data,
	}
	return g.Create(ctx, secret)
}

// stands reports whether a grant has the wanted content, for long enough.
func stands(have, want *grant.Grant, now time.Time) bool {
	if have.ExpiresAt.Sub(now) <= renewBefore || needsCA(want) && !isFresh(have.CA, now) {
		return false
	}
	like := *want
	like.ExpiresAt, like.CA = have.ExpiresAt, have.CA
	a, err := have.Encode()
	if err != nil {
		return false
	}
	b, err := like.Encode()
	return err == nil && maps.EqualFunc(a, b, bytes.Equal)
}

// version is a Secret in one of its versions.
type version struct {
	uid             types.UID
	resourceVersion string
}

// versionOf returns the version of a Secret, nil if there is none.
func versionOf(secret *corev1.Secret) *version {
	if secret.UID == "" {
		return nil
	}
	return &version{secret.UID, secret.ResourceVersion}
}

// find records the version of the grant, if there is one.
func (g *Granter) find(ctx context.Context, uid types.UID, st *memory) (found bool, err error) {
	var secret corev1.Secret
	err = g.Live.Get(ctx, client.ObjectKey{Namespace: g.Sandbox.Namespace, Name: grant.SecretName(string(uid))}, &secret)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get the grant to delete it: %w", err)
	}
	st.version = versionOf(&secret)
	return st.version != nil, nil
}

// remove deletes the grant in the version that was known at the decision. A leader may have been frozen since then, and thaw when another one has
// written a grant for a new sandbox. Its deletion fails with a conflict, and the next pass decides anew. An unknown version is looked up. That
// happens only for a run that is over, which gets no other grant.
func (g *Granter) remove(ctx context.Context, uid types.UID, st *memory) error {
	if st.version == nil {
		if found, err := g.find(ctx, uid, st); err != nil || !found {
			return err
		}
	}
	version := st.version
	st.version = nil
	err := g.Delete(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Sandbox.Namespace, Name: grant.SecretName(string(uid))},
	}, client.Preconditions{UID: &version.uid, ResourceVersion: &version.resourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the grant: %w", err)
	}
	return nil
}
