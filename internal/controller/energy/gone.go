// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"sync"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/energy"
)

// maxGone bounds the memory of runs that were deleted.
const maxGone = 1024

// gone remembers what runs had done when they were deleted, by their UIDs. A run that was deleted under way costs that; after a restart of the manager, its
// base alone.
type gone struct {
	mu    sync.Mutex
	steps map[string]int32
}

// note notes a run that was deleted.
func (g *gone) note(run *v1alpha1.MotorRun) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.steps == nil || len(g.steps) >= maxGone {
		g.steps = map[string]int32{}
	}
	g.steps[string(run.UID)] = run.Status.Steps
}

// costOf returns what a deleted run costs.
func (g *gone) costOf(o *v1alpha1.EnergyOpen) energy.Amount {
	g.mu.Lock()
	defer g.mu.Unlock()
	return energy.Cost(&o.EnergyRates, g.steps[o.RunUID])
}

// forget forgets runs that are settled.
func (g *gone) forget(settled map[string]energy.Amount) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid := range settled {
		delete(g.steps, uid)
	}
}
