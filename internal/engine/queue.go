// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// enqueue notes that the run waits for a loop to end, or for the Lease. It keeps the place that it has.
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

// crowds says whether the namespace has its half of all loops while runs of others wait: the endpoint of one namespace
// can hang, and must not have everybody else's runs hang with it.
func (e *Engine) crowds(namespace string) bool {
	if e.Config.MaxLoops <= 0 || !slices.ContainsFunc(e.queue, func(r *v1alpha1.MotorRun) bool { return r.Namespace != namespace }) {
		return false
	}
	has := 0
	for key, l := range e.loops {
		if key.Namespace == namespace && l.running {
			has++
		}
	}
	// Rounded up, so that two namespaces that both have their half leave no room unused.
	return has >= (e.Config.MaxLoops+1)/2
}

// notify has Reconcile look at runs, in this order. Those that waited for a place and find none keep their turn.
func (e *Engine) notify(runs []*v1alpha1.MotorRun) {
	for _, run := range runs {
		select {
		case e.ended <- event.TypedGenericEvent[*v1alpha1.MotorRun]{Object: run}:
		case <-e.stopping:
			return
		}
	}
}
