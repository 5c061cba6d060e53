// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
)

// allRuns maps a MotorCortex to the runs of its namespace: it sets how long finished runs are retained, too.
func (r *Reconciler) allRuns(ctx context.Context, o client.Object) []reconcile.Request {
	return r.chosen(ctx, o, func(_ *v1alpha1.MotorCortex, runs []v1alpha1.MotorRun) (list []*v1alpha1.MotorRun) {
		for i := range runs {
			list = append(list, &runs[i])
		}
		return list
	})
}

// unfinishedRuns maps an object that concerns all runs of a namespace to those that it can still concern.
func (r *Reconciler) unfinishedRuns(ctx context.Context, o client.Object) []reconcile.Request {
	return r.chosen(ctx, o, func(_ *v1alpha1.MotorCortex, runs []v1alpha1.MotorRun) (list []*v1alpha1.MotorRun) {
		for i := range runs {
			if !pass.IsFinished(&runs[i]) {
				list = append(list, &runs[i])
			}
		}
		return list
	})
}

// closedRuns maps a NetworkPolicy to the runs whose sandboxes it closes, or opens: one of a run's own to that run.
func (r *Reconciler) closedRuns(ctx context.Context, o client.Object) []reconcile.Request {
	if run := o.GetLabels()[v1alpha1.LabelRun]; run != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: run}}}
	}
	return r.unfinishedRuns(ctx, o)
}

// runOfClaim maps the claim of a workspace to its run.
func runOfClaim(_ context.Context, o client.Object) []reconcile.Request {
	run := o.GetLabels()[v1alpha1.LabelRun]
	if run == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: run}}}
}

// runsOf lists the runs of a namespace. They belong to the cache: the caller must not change them.
func (r *Reconciler) runsOf(ctx context.Context, namespace string) ([]v1alpha1.MotorRun, error) {
	var runs v1alpha1.MotorRunList
	if err := r.List(ctx, &runs, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs.Items, nil
}

// chosen requests a pass over those runs of a namespace that choose selects from its MotorCortex.
func (r *Reconciler) chosen(
	ctx context.Context, o client.Object, choose func(*v1alpha1.MotorCortex, []v1alpha1.MotorRun) []*v1alpha1.MotorRun,
) []reconcile.Request {
	all := func(*v1alpha1.MotorCortex) ([]v1alpha1.MotorRun, error) { return r.runsOf(ctx, o.GetNamespace()) }
	return r.chosenAmong(ctx, o, all, choose)
}

// chosenAmong is chosen of the runs that are listed.
func (r *Reconciler) chosenAmong(
	ctx context.Context, o client.Object, list func(*v1alpha1.MotorCortex) ([]v1alpha1.MotorRun, error),
	choose func(*v1alpha1.MotorCortex, []v1alpha1.MotorRun) []*v1alpha1.MotorRun,
) []reconcile.Request {
	c, err := cortex.Get(ctx, r.Client, o.GetNamespace())
	var runs []v1alpha1.MotorRun
	if err == nil {
		runs, err = list(c)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the runs that another one concerns", "namespace", o.GetNamespace(), "run", o.GetName())
		return nil
	}
	var requests []reconcile.Request
	for _, run := range choose(c, runs) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
	}
	return requests
}
