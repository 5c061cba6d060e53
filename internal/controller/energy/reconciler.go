// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/energy"
)

// maxConcurrent is how many namespaces are settled at the same time.
const maxConcurrent = 4

// Reconciler settles the runs of each namespace that have ended or are gone, and shows when another kind of run becomes possible. It follows from the ledger
// and the runs alone what is to be settled, so a restart loses nothing.
type Reconciler struct {
	Ledger

	gone gone
}

// SetupWithManager registers the reconciler. Like every controller it runs in the leader only.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("energy").
		For(&v1alpha1.MotorCortex{}, builder.WithPredicates(changesEnergy())).
		Watches(&v1alpha1.MotorRun{}, handler.EnqueueRequestsFromMapFunc(cortexBeside), builder.WithPredicates(r.ends())).
		WithOptions(pass.Options(maxConcurrent)).
		Complete(r)
}

// changesEnergy selects the changes of a MotorCortex that concern its energy.
func changesEnergy() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.MotorCortex)
			after, same := e.ObjectNew.(*v1alpha1.MotorCortex)
			return ok && same && (!equality.Semantic.DeepEqual(before.Spec.Energy, after.Spec.Energy) ||
				!equality.Semantic.DeepEqual(before.Status.Energy, after.Status.Energy))
		},
	}
}

// ends selects runs with energy that end, and notes those that are deleted under way: their entries have the base alone. A finished run is settled before it is
// deleted.
func (r *Reconciler) ends() predicate.Predicate {
	costs := func(o client.Object) bool { run, ok := o.(*v1alpha1.MotorRun); return ok && run.Status.Energy != nil }
	ended := func(o client.Object) bool { run, ok := o.(*v1alpha1.MotorRun); return ok && pass.IsFinished(run) }
	return predicate.Funcs{
		// The runs that are there when the controller begins are found by the ledger.
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return !ended(e.ObjectOld) && ended(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool {
			if run, ok := e.Object.(*v1alpha1.MotorRun); ok && costs(run) && !pass.IsFinished(run) {
				r.gone.note(run)
			}
			return true
		},
	}
}

// cortexBeside maps a run to the MotorCortex of its namespace.
func cortexBeside(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: v1alpha1.CortexName}}}
}

// Reconcile settles the runs of one namespace in one write. Where energy is not configured it makes no request.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1alpha1.MotorCortex{}
	if err := r.Get(ctx, req.NamespacedName, c); err != nil {
		if apierrors.IsNotFound(err) {
			r.gone.keep(req.Namespace, nil)
		}
		return pass.Retry(), client.IgnoreNotFound(err)
	}
	r.gone.keep(c.Namespace, openOf(c))
	if !c.DeletionTimestamp.IsZero() || c.Spec.Energy == nil && c.Status.Energy == nil {
		return ctrl.Result{}, nil
	}
	err := r.settle(ctx, c)
	if apierrors.IsConflict(err) {
		return pass.Again(pass.ConflictPause), nil
	}
	if err != nil {
		return pass.Retry(), client.IgnoreNotFound(err)
	}
	return r.again(c), nil
}

// again requests a pass for when another kind of run becomes possible, if the status does not change before.
func (r *Reconciler) again(c *v1alpha1.MotorCortex) ctrl.Result {
	s := pass.Pass{Now: r.Now()}
	if c.Status.Energy != nil {
		s.Wake(energy.Reaches(c.Status.Energy, s.Now))
	}
	return s.Result()
}

// settle writes what is due. c is the MotorCortex as the cache has it.
func (r *Reconciler) settle(ctx context.Context, c *v1alpha1.MotorCortex) error {
	if c.Spec.Energy == nil {
		before := c.DeepCopy()
		c.Status.Energy = nil
		return r.write(ctx, before, c)
	}
	costs, err := r.owed(ctx, c.Namespace, openOf(c))
	if err != nil {
		return fmt.Errorf("find what runs cost: %w", err)
	}
	if len(costs) == 0 && !energy.IsStale(c.Spec.Energy, c.Status.Energy, r.Now()) {
		return nil
	}
	return r.change(ctx, c.Namespace, func(b *book) (bool, error) {
		write := b.stale
		for _, uid := range slices.Sorted(maps.Keys(costs)) {
			write = b.settle(uid, costs[uid]) || write
		}
		return write, nil
	})
}

// openOf returns the runs of a ledger that are not settled.
func openOf(c *v1alpha1.MotorCortex) []v1alpha1.EnergyOpen {
	if c.Status.Energy == nil {
		return nil
	}
	return c.Status.Energy.Open
}
