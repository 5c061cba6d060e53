// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/objects"
)

const (
	// sweepEvery is the interval after which an orphaned grant is deleted. It expires before long in any case.
	sweepEvery = 30 * time.Second
	// sweepPage bounds how many grants are listed at a time.
	sweepPage = 500
)

// Sweep deletes the grants of runs that are over or gone, and the sandboxes of runs that are gone. Owner references cannot do the former: none
// reaches from one namespace into another.
type Sweep struct {
	client.Client
	// Live reads past the cache: no Secret is ever watched.
	Live client.Reader
	// Namespace is where the grants are.
	Namespace string
}

// Start sweeps until the manager ends. Like every Runnable that does not declare otherwise, it runs in the leader only.
func (w *Sweep) Start(ctx context.Context) error {
	pass.Every(ctx, sweepEvery, func() {
		if err := w.Sweep(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "sweep what runs left behind")
		}
	})
	return nil
}

// Sweep checks all grants once. It lists only their names and labels; the cache determines which of them need a second look.
func (w *Sweep) Sweep(ctx context.Context) error {
	suspects, err := w.suspects(ctx)
	failed := []error{err, w.orphans(ctx)}
	for _, s := range suspects {
		failed = append(failed, w.judge(ctx, s))
	}
	return errors.Join(failed...)
}

func (w *Sweep) suspects(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	var suspects []metav1.PartialObjectMetadata
	for next := ""; ; {
		var page metav1.PartialObjectMetadataList
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		err := w.Live.List(ctx, &page, client.InNamespace(w.Namespace), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant},
			client.Limit(sweepPage), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("list the grants: %w", err)
		}
		suspects = append(suspects, page.Items...)
		if next = page.Continue; next == "" {
			break
		}
	}
	if len(suspects) == 0 {
		return nil, nil
	}
	var runs v1alpha1.MotorRunList
	if err := w.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	active := map[types.UID]bool{}
	for i := range runs.Items {
		active[runs.Items[i].UID] = !pass.IsFinished(&runs.Items[i])
	}
	orphans := suspects[:0]
	for _, s := range suspects {
		if !active[types.UID(s.Labels[v1alpha1.LabelRunUID])] {
			orphans = append(orphans, s)
		}
	}
	return orphans, nil
}

// judge deletes a grant, unless the run goes on according to the API server itself.
func (w *Sweep) judge(ctx context.Context, suspect metav1.PartialObjectMetadata) error {
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
