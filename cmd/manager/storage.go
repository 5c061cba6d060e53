// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex/internal/controller/budget"
	"motorcortex.dev/motorcortex/internal/storage"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

// room has the parts that bound what runs keep in the cluster.
type room struct {
	meter  *storage.Meter
	budget *budget.Budget
}

// setupStorage builds them. Every replica counts for itself, because each of them carries runs on.
func setupStorage(ctx context.Context, mgr ctrl.Manager, clock *timekeeper.Clock) (room, error) {
	meter := &storage.Meter{}
	if err := meter.Watch(ctx, mgr.GetCache()); err != nil {
		return room{}, fmt.Errorf("count what runs keep: %w", err)
	}
	return room{meter, &budget.Budget{Cache: mgr.GetClient(), Usage: meter, Now: clock.Now}}, nil
}

// runs returns the source that requests passes over runs.
func (r room) runs() *budget.Watch {
	return &budget.Watch{Budget: r.budget, Meter: r.meter, Concerned: r.budget.Runs}
}

// cortexes returns the source that requests passes over MotorCortexes.
func (r room) cortexes() *budget.Watch {
	return &budget.Watch{Budget: r.budget, Meter: r.meter, Concerned: r.budget.Cortex}
}
