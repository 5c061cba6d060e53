// SPDX-License-Identifier: Apache-2.0

// Package sweep deletes what runs leave behind: the grants of runs that are over or gone, and the sandboxes of runs that are gone.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// every is the time between two sweeps. A grant also expires by itself, and a sandbox has a deadline of its own, which may be days away.
const every = 30 * time.Second

// Sweeper deletes the grants of runs that are over or gone, and the sandboxes of runs that are gone. Owner references cannot do the former: none
// reaches from one namespace into another.
type Sweeper struct {
	client.Client
	// Live reads past the cache: no Secret is ever watched.
	Live client.Reader
	// Namespace is where the grants are.
	Namespace string
}

// Start sweeps until the manager ends. Like every Runnable that does not declare otherwise, it runs in the leader only.
func (w *Sweeper) Start(ctx context.Context) error {
	pass.Every(ctx, every, func() {
		if err := w.Sweep(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "sweep what runs left behind")
		}
	})
	return nil
}

// Sweep looks once. It lists only the names and labels of grants; the cache determines which of them need a second look.
func (w *Sweeper) Sweep(ctx context.Context) error {
	finished, err := w.finished(ctx)
	if err != nil {
		return err
	}
	return errors.Join(w.grants(ctx, finished), w.orphans(ctx, finished))
}

// finished reports of each run in the cache, by its UID, whether it has finished.
func (w *Sweeper) finished(ctx context.Context) (map[types.UID]bool, error) {
	var runs v1alpha1.MotorRunList
	if err := w.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	finished := make(map[types.UID]bool, len(runs.Items))
	for i := range runs.Items {
		finished[runs.Items[i].UID] = pass.IsFinished(&runs.Items[i])
	}
	return finished, nil
}
