// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// orphans deletes the sandboxes whose run is gone, the policies that open their way out, and the claims of workspaces whose Pod is gone. The
// garbage collector deletes them with their run, unless the run was deleted with --cascade=orphan while no manager was there to see it. Then no
// pass checks the NetworkPolicies of the run any more, and its Pod would run until its own deadline, which may be days away.
func (w *Sweeper) orphans(ctx context.Context, runs map[types.UID]bool) error {
	var pods corev1.PodList
	var policies networkingv1.NetworkPolicyList
	var claims metav1.PartialObjectMetadataList
	claims.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"))
	for _, list := range []client.ObjectList{&pods, &policies, &claims} {
		if err := w.List(ctx, list, client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list what belongs to sandboxes: %w", err)
		}
	}
	var all []client.Object
	for i := range pods.Items {
		all = append(all, &pods.Items[i])
	}
	for i := range policies.Items {
		// The baseline belongs to no run.
		run := policies.Items[i].Labels[v1alpha1.LabelRun]
		if run != "" && policies.Items[i].Name == sandbox.EgressPolicyName(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: run}}) {
			all = append(all, &policies.Items[i])
		}
	}
	pools, err := w.pools(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for i := range claims.Items {
		// Its Pod was deleted with --cascade=orphan, and nothing mounts it any more.
		if c := &claims.Items[i]; sandbox.OrphanedClaim(c) {
			failed = append(failed, w.remove(ctx, c))
		}
	}
	for _, o := range all {
		if o.GetDeletionTimestamp() != nil {
			continue
		}
		if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
			if _, known := runs[ref.UID]; known || pools[ref.UID] {
				continue
			}
		}
		failed = append(failed, w.remove(ctx, o))
	}
	return errors.Join(failed...)
}

// pools returns the UIDs of all pools: a sandbox that waits in one belongs to no run.
func (w *Sweeper) pools(ctx context.Context) (map[types.UID]bool, error) {
	var pools v1alpha1.SandboxPoolList
	if err := w.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	known := map[types.UID]bool{}
	for i := range pools.Items {
		known[pools.Items[i].UID] = true
	}
	return known, nil
}

// remove deletes an object of a run or a pool, unless the API server itself has the run: the cache may be behind.
func (w *Sweeper) remove(ctx context.Context, o client.Object) error {
	name := o.GetLabels()[v1alpha1.LabelRun]
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		name = ref.Name
	}
	preconditions := client.Preconditions{UID: new(o.GetUID())}
	if pod, ok := o.(*corev1.Pod); ok {
		if ref, ok := sandbox.PoolOf(pod); ok {
			var pool v1alpha1.SandboxPool
			err := w.Live.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}, &pool)
			if err == nil && pool.UID == ref.UID {
				return nil
			}
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("get the pool of %s in namespace %s: %w", o.GetName(), o.GetNamespace(), err)
			}
			// A run may have taken it since.
			name, preconditions.ResourceVersion = "", new(o.GetResourceVersion())
		}
	}
	if name != "" {
		var run v1alpha1.MotorRun
		err := w.Live.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: name}, &run)
		if err == nil && objects.OwnedByRun(o, &run) {
			return nil
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get the run of %s in namespace %s: %w", o.GetName(), o.GetNamespace(), err)
		}
	}
	err := w.Delete(ctx, o, preconditions)
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s in namespace %s, whose run is gone: %w", o.GetName(), o.GetNamespace(), err)
	}
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("deleted what a run left that is gone", "namespace", o.GetNamespace(), "name", o.GetName())
	}
	return nil
}
