// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// place gives the run to a worker that lives. Each time it goes to another one the epoch grows, so that the former one is
// refused by journal and sandbox.
//
// It is the last step: no worker does anything for a run whose sandbox is not ready, and the pass that finds the sandbox
// ready comes here before anybody else can see that it is. The same goes for its way out and its credentials.
func (r *MotorRunReconciler) place(ctx context.Context, s *pass.Run) (bool, error) {
	st := &s.Run.Status
	live := r.Workers.Live()
	r.noteLoss(s, live)
	if runpolicy.IsAlone(st) && runpolicy.Lives(st.Worker, live) && r.onTrial(s) {
		return true, nil
	}
	live = r.beside(ctx, s, live)
	trial := !blockSetAside(s) && runpolicy.IsSuspect(st) && r.mayTry(ctx, s)
	if !trial && runpolicy.Lives(st.Worker, live) && st.Epoch >= s.Progress.Epoch {
		return true, nil
	}
	worker, err := r.choose(ctx, s.Run, live)
	if err != nil {
		return false, err
	}
	if worker == "" {
		// The run keeps its former worker, which may show up again. Whoever is the first to show up wakes it.
		if !s.SetAside {
			s.Message = "No replica of the manager is ready to carry the run on. It goes on when one is."
		}
		return false, nil
	}
	st.Worker = worker
	// A status that was restored or edited can be behind the journal, which refuses a lower epoch for ever.
	st.Epoch = max(st.Epoch, s.Progress.Epoch) + 1
	if trial {
		runpolicy.BeginTrial(st, s.Now)
		return r.onTrial(s), nil
	}
	return true, nil
}

// placements are the decisions that the cache does not show yet. Without them, runs that are placed at the same time
// would all go to the same worker.
type placements struct {
	mu   sync.Mutex
	made map[types.UID]placement
}

type placement struct {
	worker string
	epoch  int64
}

func (r *MotorRunReconciler) choose(ctx context.Context, run *v1alpha1.MotorRun, live []runpolicy.Worker) (string, error) {
	r.placed.mu.Lock()
	defer r.placed.mu.Unlock()
	load, err := r.load(ctx)
	if err != nil {
		return "", err
	}
	worker := runpolicy.Place(run.Status.Worker, live, load)
	if worker != "" {
		r.placed.made[run.UID] = placement{worker, run.Status.Epoch + 1}
	}
	return worker, nil
}

// load counts the unfinished runs by worker, and forgets the placements that the cache shows or that came to nothing.
func (r *MotorRunReconciler) load(ctx context.Context) (map[string]int, error) {
	var runs v1alpha1.MotorRunList
	if err := r.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	load, pending := map[string]int{}, map[types.UID]placement{}
	for i := range runs.Items {
		run := &runs.Items[i]
		if pass.IsFinished(run) || !run.DeletionTimestamp.IsZero() {
			continue
		}
		worker := run.Status.Worker
		if p, ok := r.placed.made[run.UID]; ok && p.epoch > run.Status.Epoch {
			pending[run.UID] = p
			worker = p.worker
		}
		load[worker]++
	}
	r.placed.made = pending
	return load, nil
}
