// SPDX-License-Identifier: Apache-2.0

// Package placement assigns runs to the replicas of the manager. It determines which of them live, which has the fewest runs, and which run is
// carried on alone because the replicas that had it ended.
package placement

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

// Placer assigns runs to the replicas of the manager.
type Placer struct {
	client.Client
	// Workers are the replicas.
	Workers Workers
	// TrialPause is the least time between two runs that are carried on alone, 0 for 30 s.
	TrialPause time.Duration
	// State is the memory of this process about placements.
	State *State
	// Now is the process's clock, time.Now if nil.
	Now func() time.Time
	// Indexed is true if the cache has IndexSlots.
	Indexed bool
}

// State is the memory of a process about placements. The zero value is that of a process which has just begun.
type State struct {
	placed placements
	trials trials
	given  given
}

func (p *Placer) pause() time.Duration { return cmp.Or(p.TrialPause, trialPause) }

// Place assigns the run to a worker that lives. Each time the run moves to another worker the epoch grows, so that journal and sandbox refuse the
// former one.
//
// It comes after all steps of a run that goes on: no worker does anything for a run whose sandbox is not ready. The pass that finds the sandbox ready
// comes here before any other process can see that it is. The same holds for its way out and its credentials. A run that ends comes here at once.
func (p *Placer) Place(ctx context.Context, s *pass.Run) error {
	st := &s.Run.Status
	live := p.Workers.Live()
	p.noteLoss(s, live)
	if runpolicy.IsAlone(st) && replica.Lives(st.Execution.Worker, live) && p.onTrial(s) {
		return nil
	}
	live = p.beside(ctx, s, live)
	trial := !blockSetAside(s) && runpolicy.IsSuspect(st) && p.mayTry(ctx, s)
	if !trial && replica.Lives(st.Execution.Worker, live) && st.Execution.Epoch >= s.Progress.Epoch {
		return nil
	}
	worker, err := p.choose(ctx, s.Run, live)
	if err != nil {
		return err
	}
	if worker == "" {
		// The run retains its former worker, which may show up again. The first worker that shows up wakes the run.
		if !s.SetAside {
			s.Message = "No replica of the manager is ready to carry the run on. It goes on when one is."
		}
		return nil
	}
	st.Execution.Worker = worker
	// A status that was restored or edited can be behind the journal, which refuses a lower epoch for ever.
	st.Execution.Epoch = max(st.Execution.Epoch, s.Progress.Epoch) + 1
	if trial {
		runpolicy.BeginTrial(st, s.Now)
		p.onTrial(s)
	}
	return nil
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

func (p *Placer) choose(ctx context.Context, run *v1alpha1.MotorRun, live []replica.Worker) (string, error) {
	p.State.placed.mu.Lock()
	defer p.State.placed.mu.Unlock()
	load, err := p.load(ctx)
	if err != nil {
		return "", err
	}
	worker := replica.Place(run.Status.Execution.Worker, live, load)
	if worker != "" {
		p.State.placed.made[run.UID] = placement{worker, run.Status.Execution.Epoch + 1}
	}
	return worker, nil
}

// load counts the unfinished runs by worker, and forgets the placements that the cache shows or that failed.
func (p *Placer) load(ctx context.Context) (map[string]int, error) {
	var runs v1alpha1.MotorRunList
	if err := p.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	load, pending := map[string]int{}, map[types.UID]placement{}
	for i := range runs.Items {
		run := &runs.Items[i]
		if pass.IsFinished(run) || !run.DeletionTimestamp.IsZero() {
			continue
		}
		worker := run.Status.Execution.Worker
		if made, ok := p.State.placed.made[run.UID]; ok && made.epoch > run.Status.Execution.Epoch {
			pending[run.UID] = made
			worker = made.worker
		}
		load[worker]++
	}
	p.State.placed.made = pending
	return load, nil
}
