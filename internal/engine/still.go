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

// The engine ends the background programs of a run that stands still. A run stands still when it is suspended, is set aside, waits for its
// trial, or waits for a retry. It also stands still when it has waited for a person for as long as it may take itself, and before it gets a
// domain that a person allowed for one call. In all cases but the last, the programs of MCP servers end too: they start again when the run
// resumes. Programs are ended and not frozen. A frozen program would hold its connections and its locks for days while its peers time out.
// After the thaw it would act on stale data.

// standsStill returns why the background programs of the run have to end now, "" for no reason. It also returns how soon there will be a
// reason if nothing else changes, 0 for never.
func (e *Engine) standsStill(run *v1alpha1.MotorRun) (reason string, again time.Duration) {
	st, p := &run.Status, run.Status.Pending()
	switch {
	case !run.DeletionTimestamp.IsZero(), run.Spec.Cancel, st.Execution.Worker != e.Config.Worker, len(st.Attempts) == 0,
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
	asked := p.AskTime.Time
	limit := time.Duration(run.Spec.Limits.ActiveDeadlineSeconds) * time.Second
	if wait := e.until(e.observed().Extend(asked, asked.Add(limit))); wait > 0 {
		return "", wait
	}
	return toolapi.StoppedAwaitingInput, 0
}

func hasBash(run *v1alpha1.MotorRun) bool { return slices.Contains(run.Spec.Tools, toolapi.ToolBash) }

// still ends the background programs of a run that stands still, once. It returns how soon to look again.
func (e *Engine) still(run *v1alpha1.MotorRun) (again time.Duration) {
	reason, again := e.standsStill(run)
	key := client.ObjectKeyFromObject(run)
	e.mu.Lock()
	defer e.mu.Unlock()
	if reason == "" || e.isStopping() {
		return again
	}
	if l := e.loops[key]; l != nil && l.running {
		// When the loop has ended, the run is reconciled again.
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
	case !e.held(), e.noShort(e.stilling):
		return time.Second
	}
	h.running = true
	e.stilling++
	e.wg.Go(func() {
		e.attend(run, h, &e.stilling, e.stillOnce, "end what runs in the background of a run that stands still")
	})
	return 0
}

// goesOn reports whether a run that resumes can continue: its background programs are no longer being ended.
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
		return nil // No call was made in the sandbox yet.
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
		return err // A sandbox without a call has nothing to record.
	}
	return sandbox.Env.Entries.NotePrograms(ctx, programs)
}
