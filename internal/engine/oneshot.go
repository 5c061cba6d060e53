// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"log/slog"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/oneshot"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// runOnce runs the code of a Oneshot run: one call, which no model asked for, in the journal and the sandbox that every run
// has. What it came to is in its step, and the controller ends the run by that.
func (e *Engine) runOnce(
	ctx context.Context, l *loop, run *v1alpha1.MotorRun, entries *journal.Log, log *slog.Logger,
) (motorloop.Outcome, error) {
	box, err := e.openSandbox(l, run, entries, log)
	if err != nil {
		return motorloop.Outcome{}, err
	}
	defer box.close()
	box.isolationLost = runpolicy.IsolationLost(run, runpolicy.ReadJournal(run, entries.AllSteps()))
	loop := &motorloop.Loop{
		Config: motorloop.Config{Attempt: attemptOf(run).Index}, Tools: box, Journal: leasedJournal{entries, e}, Ready: box.ready, Now: e.Now, Logger: log,
	}
	turns := entries.Turns()
	if e.Config.Fault != nil {
		faulty := &faultyLoop{fault: e.Config.Fault, run: run, journal: loop.Journal, box: box, step: int32(len(turns))}
		loop.Tools, loop.Journal = faulty, faulty
	}
	loop.Tools = oneshotTools{loop.Tools}
	args := toolapi.OneshotArgs{
		Language: run.Spec.Code.Language, Source: run.Spec.Code.Source, TimeoutMs: oneshot.Clamp(run.Spec.Code.TimeoutMs),
	}
	call := motorloop.Call{Tool: toolapi.ToolOneshot, Arguments: oneshot.Arguments(args)}
	return loop.Once(ctx, turns, call, oneshot.Refuse(args))
}

// oneshotTools takes nothing from the sandbox as the result of the code that is none.
type oneshotTools struct{ motorloop.Tools }

// Call runs the code.
func (t oneshotTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	r, err := t.Tools.Call(ctx, c)
	if err != nil {
		return toolapi.Result{}, err
	}
	return oneshot.Clean(r), nil
}
