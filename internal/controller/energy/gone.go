// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"sync"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/energy"
)

// maxGone bounds the memory of the deleted runs of a namespace. No more of them can be unsettled.
const maxGone = energy.MaxOpen

// gone remembers what runs had done when they were deleted, by their namespaces and UIDs, until they are settled. A run that was deleted under way costs that; after a
// restart of the manager, its base alone.
type gone struct {
	mu    sync.Mutex
	steps map[string]map[string]int32
}

// note notes a run that was deleted under way. At the bound it notes no more: to forget another one would have that cost its base alone.
func (g *gone) note(run *v1alpha1.MotorRun) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.steps == nil {
		g.steps = map[string]map[string]int32{}
	}
	of := g.steps[run.Namespace]
	if of == nil {
		of = map[string]int32{}
		g.steps[run.Namespace] = of
	}
	if len(of) < maxGone {
		of[string(run.UID)] = run.Status.Steps
	}
}

// costOf returns what a deleted run costs.
func (g *gone) costOf(namespace string, o *v1alpha1.EnergyOpen) energy.Amount {
	g.mu.Lock()
	defer g.mu.Unlock()
	return energy.Cost(&o.EnergyRates, g.steps[namespace][o.RunUID])
}

// keep forgets the runs of a namespace that have no open entry: they are settled, or their ledger is gone.
func (g *gone) keep(namespace string, open []v1alpha1.EnergyOpen) {
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := map[string]int32{}
	for i := range open {
		if n, noted := g.steps[namespace][open[i].RunUID]; noted {
			kept[open[i].RunUID] = n
		}
	}
	if len(kept) == 0 {
		delete(g.steps, namespace)
		return
	}
	g.steps[namespace] = kept
}
