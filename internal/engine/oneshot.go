// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"log/slog"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/oneshot"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// runOnce runs the code of a Oneshot run: one call, which no model asked for, in the journal and the sandbox that every run
// has. What it came to is in its step, and the controller ends the run by that. Code of a run with domains may have done something
// outside: it is not run again if nobody saw it end.
func (e *Engine) runOnce(
	ctx context.Context, l *loop, run *v1alpha1.MotorRun, entries *journal.Log, known *redacting.Secrets, log *slog.Logger,
) (motorloop.Outcome, error) {
	network := len(run.Spec.Domains) > 0
	tool, way := toolapi.ToolOneshot, (*egress)(nil)
	if network {
		var err error
		if way, err = e.openEgress(ctx, l, run, known); err != nil {
			return motorloop.Outcome{}, err
		}
		if !way.exists() {
			return motorloop.Outcome{}, egressMissing(l, e.Now(), "the run may reach nothing")
		}
		tool = toolapi.ToolOneshotNetwork
	}
	box, err := e.openSandbox(l, run, entries, log)
	if err != nil {
		return motorloop.Outcome{}, err
	}
	defer box.close()
	if way != nil {
		box.egress = way
	}
	args := toolapi.OneshotArgs{
		Language: run.Spec.Code.Language, Source: run.Spec.Code.Source, TimeoutMs: oneshot.Timeout(run.Spec.Code.TimeoutMs, network),
	}
	call := motorloop.Call{Tool: tool, Arguments: oneshot.Arguments(args)}
	return box.once(ctx, call, oneshot.Refuse(args, network), func(t motorloop.Tools) motorloop.Tools {
		if way == nil {
			return oneshotTools{t}
		}
		return oneshotTools{redacting.Tools{Tools: t, Secrets: known, Refresh: way.refresh}}
	})
}

// once runs the loop of a run that has one call, which no model asked for. It is made by what judging makes of the sandbox's tools,
// or has refused as its result if that is not nil.
func (s *sandboxTools) once(
	ctx context.Context, call motorloop.Call, refused *toolapi.Result, judging func(motorloop.Tools) motorloop.Tools,
) (motorloop.Outcome, error) {
	s.isolationLost = runpolicy.IsolationLost(s.run, runpolicy.ReadJournal(s.run, s.entries.AllSteps()))
	loop := &motorloop.Loop{
		// Nobody is asked about a call that nobody saw end: one that may be made again is, and any other fails.
		Config:  motorloop.Config{Attempt: runpolicy.CurrentAttempt(s.run).Index, OnUnknown: motorloop.UnknownModel},
		Tools:   s,
		Journal: leasedJournal{s.entries, s.engine},
		Ready:   s.ready,
		Now:     s.engine.apiNow,
		Logger:  s.log,
	}
	turns := s.entries.Turns()
	s.interpose(loop, turns)
	loop.Tools = judging(loop.Tools)
	return loop.Once(ctx, turns, call, refused)
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
