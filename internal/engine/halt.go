// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
)

// While a NetworkPolicy of a sandbox is changed or gone, a program can open a connection. Restoring the policy does not end it: firewalls
// pass packets of connections that they track. So the engine ends everything in the sandbox, and asks the kernel which
// connections remain:
//
//	wall open ─► IsolationLost ─► halt: calls, background, MCP servers ─► no connection left ─► proof ─► the run goes on
//	                                                                  └─► connections left ───────────► another Pod
//
// The halt comes at once, also for a run that waits for a person, is suspended, or has no slot among the loops. It is repeated
// before the proof, so that no run resumes without it.

const (
	// haltLimit bounds one try to halt a sandbox from outside of a loop.
	haltLimit = 45 * time.Second
	// haltTries is how many tries there are. The loop that goes on makes its own, and fails without it.
	haltTries = 10
)

// halting is this replica's state of the halt of a sandbox.
type halting struct {
	task task
	// reason is why programs are ended in a run that stands still; see still.
	reason string
	// running is true while a goroutine works on it, done if no work remains.
	running, done bool
	tries         int
	retryAt       time.Time
}

// mustHalt reports whether the sandbox of the run lost its isolation, and this replica must halt it.
func (e *Engine) mustHalt(run *v1alpha1.MotorRun) bool {
	st := &run.Status
	c := apimeta.FindStatusCondition(st.Conditions, v1alpha1.ConditionIsolationVerified)
	return run.DeletionTimestamp.IsZero() && st.Execution.Worker == e.Config.Worker &&
		!apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionFinished) &&
		st.Sandbox != nil && st.Sandbox.PodIP != "" && st.Sandbox.IsolationLossTime != nil &&
		apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSandboxReady) &&
		c != nil && c.Reason == v1alpha1.ReasonIsolationLost
}

// halt begins to halt the run's sandbox, unless that is done for this loss of isolation. It reports whether the run has to wait for that, and
// when to look again if nothing else wakes it.
func (e *Engine) halt(run *v1alpha1.MotorRun) (again time.Duration, waits bool) {
	key := client.ObjectKeyFromObject(run)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isStopping() {
		return 0, true
	}
	if l := e.loops[key]; l != nil && l.running {
		if l.task == taskOf(run) {
			return 0, false // The loop knows of the loss, and halts the sandbox before it does anything else.
		}
		// When the loop has ended, the run is reconciled again.
		e.dequeue(key)
		l.stop(true)
		return 0, true
	}
	h := e.halts[key]
	if h == nil || h.task != taskOf(run) && !h.running {
		h = &halting{task: taskOf(run)}
		e.halts[key] = h
	}
	switch wait := h.retryAt.Sub(e.Now()); {
	case h.done:
		return 0, false
	case h.running:
		return 0, true
	case wait > 0:
		return wait, true
	case !e.held(), e.noShort(e.halting):
		return time.Second, true
	}
	h.running = true
	e.halting++
	e.wg.Go(func() { e.attend(run, h, &e.halting, e.haltOnce, "halt a sandbox with a hole") })
	return 0, true
}

// attend runs do in the sandbox of a run that no loop carries on, once, and records the outcome. It holds one of the slots
// that places counts.
func (e *Engine) attend(run *v1alpha1.MotorRun, h *halting, places *int, do func(context.Context, *v1alpha1.MotorRun, *halting) error, what string) {
	ctx, cancel := context.WithTimeout(context.Background(), haltLimit)
	defer cancel()
	go func() {
		select {
		case <-e.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	log := e.Logger.With("namespace", run.Namespace, "run", run.Name, "epoch", h.task.epoch)
	err := do(ctx, run, h)
	e.mu.Lock()
	*places--
	h.running = false
	h.tries++
	h.done = err == nil || h.tries >= haltTries
	h.retryAt = e.Now().Add(backoff(h.tries))
	e.mu.Unlock()
	if err != nil {
		log.Warn("could not "+what, "error", err, "tries", h.tries)
	} else {
		log.Info("done: " + what)
	}
	e.notify([]*v1alpha1.MotorRun{run})
}

func (e *Engine) haltOnce(ctx context.Context, run *v1alpha1.MotorRun, h *halting) error {
	sandbox, err := e.openBox(ctx, run, h)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	_, err = sandbox.Client.Halt(ctx)
	return err
}

// forgetHalt removes the state of a run that is gone.
func (e *Engine) forgetHalt(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.halts, key)
	delete(e.stills, key)
}

// openBox opens the sandbox of a run that no loop carries on.
func (e *Engine) openBox(ctx context.Context, run *v1alpha1.MotorRun, h *halting) (*box.Box, error) {
	host, claim := e.host(), e.claimOf(h.task)
	env := host.NewEnv(run, claim, &runenv.Absence{}, &redacting.Secrets{}, e.Logger)
	var err error
	if env.Entries, err = journal.Load(ctx, e.Client, e.Live, run, h.task.attempt, claim, env.APINow); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return box.Open(env, host.Box)
}
