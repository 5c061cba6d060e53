// SPDX-License-Identifier: Apache-2.0

// Package energy drains the energy of a namespace for its runs: the base of each once when it is accepted, and the rest once when it has ended. The status of
// the MotorCortex is the ledger. Every change of it is a compare-and-swap, so that two leaders count nothing twice.
//
//	accepted ──► base drained: an entry in status.energy.open ──► ended or deleted ──► settled: the entry moves to status.energy.recent
package energy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/energy"
)

// Observer is told what drains energy, for a monitoring system. Its method must return at once.
type Observer interface {
	// EnergyDrained is told of an amount, where a full body has 1, and of the kind of run that drained it.
	EnergyDrained(kind string, amount float64)
}

// Ledger changes the energy of namespaces. A nil Ledger changes none, and lets every run begin.
type Ledger struct {
	client.Client
	// Live reads past the cache.
	Live client.Reader
	// Observer is told what drains energy. Nil is told nothing.
	Observer Observer
	// Now is the API's clock.
	Now func() time.Time
}

// book is the energy of a namespace, as it is about to be written.
type book struct {
	spec   *v1alpha1.Energy
	status *v1alpha1.EnergyStatus
	now    time.Time
	// stale is true if the status that was read has to be written anew whatever drains.
	stale bool
	// drained is told to the Observer when it is written.
	drained []drained
}

type drained struct {
	kind   v1alpha1.EnergyKind
	amount energy.Amount
}

// afterConflict are the pauses before a change is made again. Runs that ask their models write the same object, many times a second: a few tries without growing
// pauses would all meet another writer.
var afterConflict = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 1.6, Jitter: 1}

// change reads the energy of a namespace past the cache, has decide change it, and writes it if decide says so. If another writer was faster, it does all of
// that again, until a pass of a reconciler would take too long: then the conflict is returned, and the pass is made again. decide is not called where energy is not configured.
func (l *Ledger) change(ctx context.Context, namespace string, decide func(*book) (write bool, err error)) error {
	return retry.RetryOnConflict(afterConflict, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := cortex.Get(ctx, l.Live, namespace)
		if err != nil || c.Spec.Energy == nil || !c.DeletionTimestamp.IsZero() {
			return err
		}
		now := l.Now()
		b := &book{spec: c.Spec.Energy, status: energy.Observe(c.Spec.Energy, c.Status.Energy, now), now: now}
		b.stale = energy.IsStale(c.Spec.Energy, c.Status.Energy, now)
		if write, err := decide(b); err != nil || !write {
			return err
		}
		before := c.DeepCopy()
		c.Status.Energy = b.status
		if err := l.write(ctx, before, c); err != nil {
			return err
		}
		l.tell(b)
		return nil
	})
}

// write writes the energy of a MotorCortex, unless that was changed since it was read.
func (l *Ledger) write(ctx context.Context, before, c *v1alpha1.MotorCortex) error {
	if err := l.Status().Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the energy of the namespace: %w", err)
	}
	return nil
}

func (l *Ledger) tell(b *book) {
	if l.Observer == nil {
		return
	}
	for _, d := range b.drained {
		// What is given back was told before, and a counter never goes down.
		if d.amount > 0 {
			l.Observer.EnergyDrained(string(d.kind), d.amount.Float())
		}
	}
}
