// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/energy"
)

// costOf returns what a run costs that has ended: nothing if it was never accepted.
func costOf(run *v1alpha1.MotorRun, rates *v1alpha1.EnergyRates) energy.Amount {
	if !pass.IsAccepted(run) {
		return 0
	}
	return energy.Cost(rates, run.Status.Steps)
}

// Settle settles a finished run, if it is not settled yet. It comes before the run is deleted: what the run cost is in its status.
func (l *Ledger) Settle(ctx context.Context, run *v1alpha1.MotorRun) error {
	if l == nil || run.Status.Energy == nil {
		return nil
	}
	return l.change(ctx, run.Namespace, func(b *book) (bool, error) {
		open := energy.Find(b.status, string(run.UID))
		if open == nil {
			return false, nil
		}
		return b.settle(string(run.UID), costOf(run, &open.EnergyRates)), nil
	})
}

// settle settles the run of an entry, and reports whether there was one.
func (b *book) settle(uid string, cost energy.Amount) bool {
	open := energy.Find(b.status, uid)
	if open == nil {
		return false
	}
	kind := open.Kind
	rest, settled := energy.Settle(b.spec, b.status, uid, cost, b.now)
	b.drained = append(b.drained, drained{kind, rest})
	return settled
}

// owed returns what those runs cost that have an entry and have ended or are gone, by their UIDs. It reads past the cache only for a run that the cache does
// not have.
func (r *Reconciler) owed(ctx context.Context, namespace string, open []v1alpha1.EnergyOpen) (map[string]energy.Amount, error) {
	costs := map[string]energy.Amount{}
	for i := range open {
		o := &open[i]
		run, err := r.find(ctx, namespace, o)
		switch {
		case err != nil:
			return nil, err
		case run == nil:
			costs[o.RunUID] = r.gone.costOf(namespace, o)
		case pass.IsFinished(run):
			costs[o.RunUID] = costOf(run, &o.EnergyRates)
		}
	}
	return costs, nil
}

// find returns the run of an entry, nil if it is gone.
func (r *Reconciler) find(ctx context.Context, namespace string, o *v1alpha1.EnergyOpen) (*v1alpha1.MotorRun, error) {
	for _, reader := range []client.Reader{r.Client, r.Live} {
		run := &v1alpha1.MotorRun{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.RunName}, run)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get the run %s: %w", o.RunName, err)
		}
		if err == nil && string(run.UID) == o.RunUID {
			return run, nil
		}
	}
	return nil, nil
}
