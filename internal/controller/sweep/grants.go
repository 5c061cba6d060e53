// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/objects"
)

// grantsPage bounds how many grants are listed at a time.
const grantsPage = 500

// grants deletes the grants whose run is over or gone. The cache may be behind, so each of them is judged by what the API server itself has.
func (w *Sweeper) grants(ctx context.Context, finished map[types.UID]bool) error {
	var failed []error
	for next := ""; ; {
		var page metav1.PartialObjectMetadataList
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		err := w.Live.List(ctx, &page, client.InNamespace(w.Namespace), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant},
			client.Limit(grantsPage), client.Continue(next))
		if err != nil {
			return errors.Join(append(failed, fmt.Errorf("list the grants: %w", err))...)
		}
		for _, g := range page.Items {
			if over, known := finished[types.UID(g.Labels[v1alpha1.LabelRunUID])]; over || !known {
				failed = append(failed, w.judge(ctx, g))
			}
		}
		if next = page.Continue; next == "" {
			return errors.Join(failed...)
		}
	}
}

// judge deletes a grant, unless the run goes on according to the API server itself.
func (w *Sweeper) judge(ctx context.Context, suspect metav1.PartialObjectMetadata) error {
	var secret corev1.Secret
	err := w.Live.Get(ctx, client.ObjectKey{Namespace: suspect.Namespace, Name: suspect.Name}, &secret)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if g, err := grant.Decode(secret.Data); err == nil {
		var run v1alpha1.MotorRun
		err := w.Live.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: g.Run}, &run)
		if err == nil && string(run.UID) == g.RunUID && !pass.IsFinished(&run) {
			return nil
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get the run of the grant %s: %w", suspect.Name, err)
		}
	}
	err = objects.Delete(ctx, w.Client, &secret)
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the grant %s: %w", suspect.Name, err)
	}
	return nil
}
