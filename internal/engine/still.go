// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// A run that stands still has nothing in its background: what runs there is ended when the run is suspended, is set aside or waits for its
// trial, when it has waited for a
// person for as long as it may take itself, while it waits for a retry, and before it gets a domain that a person allowed for one call. So do programs
// of MCP servers, but for the last of these: they begin again when the run goes on. It is ended and not frozen. A frozen program keeps its connections and its locks for
// days, its peers give it up meanwhile, and what it does when it is thawed rests on what it read before.

// standsStill returns the reason for which what runs in the background of the run has to end now, "" for none, and how soon there will be
// one if nothing else changes, 0 for never.
func (e *Engine) standsStill(run *v1alpha1.MotorRun) (reason string, again time.Duration) {
	st, p := &run.Status, run.Status.PendingInput
	switch {
	case !run.DeletionTimestamp.IsZero(), run.Spec.Cancel, st.Worker != e.Config.Worker, len(st.Attempts) == 0,
		st.Sandbox == nil || st.Sandbox.PodIP == "", !hasBash(run) && !box.HasMCPPrograms(run),
		apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionFinished),
		!apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSandboxReady):
		return "", 0
	case run.Spec.Suspend, runpolicy.Held(st):
		return toolapi.StoppedSuspended, 0
	case hasBash(run) && runpolicy.OncePending(run):
		return toolapi.StoppedWayOut, 0
	case p == nil || runpolicy.Answered(run, p):
		return "", 0
	case p.Kind == v1alpha1.InputRetry:
		return toolapi.StoppedFinished, 0
	}
	asked := p.AskedAt.Time
	limit := time.Duration(run.Spec.Limits.TimeoutSeconds) * time.Second
	if wait := e.until(e.observed().Extend(asked, asked.Add(limit))); wait > 0 {
		return "", wait
	}
	return toolapi.StoppedAwaitingInput, 0
}

func hasBash(run *v1alpha1.MotorRun) bool { return slices.Contains(run.Spec.Tools, toolapi.ToolBash) }

// still ends what runs in the background of a run that stands still, once. It gives how soon to look again.
func (e *Engine) still(run *v1alpha1.MotorRun) (again time.Duration) {
	reason, again := e.standsStill(run)
	key := client.ObjectKeyFromObject(run)
	e.mu.Lock()
	defer e.mu.Unlock()
	if reason == "" || e.isStopping() {
		return again
	}
	if l := e.loops[key]; l != nil && l.running {
		// When it has ended, the run is looked at again.
		l.again = l.again || l.stopped
		return 0
	}
	h := e.stills[key]
	if h == nil || (h.task != taskOf(run) || h.reason != reason) && !h.running {
		h = &halting{task: taskOf(run), reason: reason}
		e.stills[key] = h
	}
	switch wait := h.retryAt.Sub(e.Now()); {
	case h.done, h.running:
		return 0
	case wait > 0:
		return wait
	case !e.held(), e.noPlace(e.stilling):
		return time.Second
	}
	h.running = true
	e.stilling++
	e.wg.Go(func() {
		e.attend(run, h, &e.stilling, e.stillOnce, "end what runs in the background of a run that stands still")
	})
	return 0
}

// goesOn reports whether nothing is being ended any more in the background of a run that is to go on.
func (e *Engine) goesOn(key types.NamespacedName) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.stills[key]; h != nil && h.running {
		return false
	}
	delete(e.stills, key)
	return true
}

func (e *Engine) stillOnce(ctx context.Context, run *v1alpha1.MotorRun, h *halting) error {
	sandbox, err := e.openBox(ctx, run, h)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	if len(sandbox.Env.Entries.AllSteps()) == 0 && !box.HasMCPPrograms(run) {
		return nil
	}
	if sandbox.Fresh() && !box.HasMCPPrograms(run) {
		return nil // No call was made in it yet.
	}
	end := sandbox.Client.EndPrograms
	if h.reason == toolapi.StoppedWayOut {
		end = sandbox.Client.EndBackground
	}
	programs, err := end(ctx, h.reason)
	if errors.Is(err, toolclient.ErrUnsupported) {
		return nil
	}
	if err != nil || sandbox.Fresh() {
		return err // Of a sandbox without a call there is nothing to record.
	}
	return sandbox.Env.Entries.NotePrograms(ctx, programs)
}
