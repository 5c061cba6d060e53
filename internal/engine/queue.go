// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/slots"
)

// enqueue adds the run to those that wait for a loop to end, or for the Lease. A queued run retains its position.
func (e *Engine) enqueue(run *v1alpha1.MotorRun) {
	if !slices.ContainsFunc(e.queue, func(r *v1alpha1.MotorRun) bool { return sameName(r, client.ObjectKeyFromObject(run)) }) {
		e.queue = append(e.queue, run)
	}
}

func (e *Engine) dequeue(key types.NamespacedName) {
	e.queue = slices.DeleteFunc(e.queue, func(r *v1alpha1.MotorRun) bool { return sameName(r, key) })
}

func sameName(run *v1alpha1.MotorRun, key types.NamespacedName) bool {
	return client.ObjectKeyFromObject(run) == key
}

// isFull reports whether all slots that the run may have are in use: those of loops, or those of last looks. Last looks have slots of their own.
// Otherwise a run that has ended would lose its files while it waits for the loops of others.
//
// A quarter of the loops is for the first run of each namespace. Loops last as long as their calls and models take, so without it a namespace that
// came first, with many runs, would keep the first step of all others waiting.
func (e *Engine) isFull(n *tally, namespace string, looks bool) bool {
	if looks {
		return e.noShort(e.looking)
	}
	if n.has[namespace] > 0 {
		return e.noPlace(e.running + e.reserved())
	}
	return e.noPlace(e.running)
}

// maxShort bounds what is over in less than a minute: last looks, and sandboxes that are halted or whose programs are ended.
const maxShort = 32

// reserved is how many loops are for the first run of each namespace.
func (e *Engine) reserved() int { return slots.Reserve(e.Config.MaxLoops) }

// noPlace reports whether taken is the maximum number of loops.
func (e *Engine) noPlace(taken int) bool { return e.Config.MaxLoops > 0 && taken >= e.Config.MaxLoops }

// noShort reports whether taken is the maximum number of slots for what is over soon.
func (e *Engine) noShort(taken int) bool { return e.noPlace(taken) || taken >= maxShort }

// count adds to the running loops, or to the last looks.
func (e *Engine) count(looks bool, n int) {
	if looks {
		e.looking += n
	} else {
		e.running += n
	}
}

// crowds reports whether the namespace has its half of the loops that are not reserved while runs of others wait. The endpoint of one namespace
// can hang, and must not block the runs of all others.
func (e *Engine) crowds(n *tally, namespace string) bool {
	if e.Config.MaxLoops <= 0 || len(e.queue) == n.waiting[namespace] {
		return false
	}
	// Rounded up, so that two namespaces that both have their half leave no slot unused.
	return n.has[namespace] >= (e.Config.MaxLoops-e.reserved()+1)/2
}

// Slots are how many slots of this replica are in use.
type Slots struct {
	// Running loops, Looks that are last looks at a sandbox, and Waiting runs that wait for a slot or for the Lease.
	Running, Looks, Waiting int
}

// Slots returns how many slots of this replica are in use now.
func (e *Engine) Slots() Slots {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Slots{e.running, e.looking, len(e.queue)}
}

// notify triggers Reconcile for runs, in this order. Runs that waited for a slot and find none retain their position.
func (e *Engine) notify(runs []*v1alpha1.MotorRun) {
	for _, run := range runs {
		select {
		case e.ended <- event.TypedGenericEvent[*v1alpha1.MotorRun]{Object: run}:
		case <-e.stopping:
			return
		}
	}
}
