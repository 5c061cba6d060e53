// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"

	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/oneshot"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// runOnce runs the code of a Oneshot run: one call, which no model asked for, in the journal and the sandbox that every run
// has. Its step has the result, and the controller ends the run by that. Code of a run with domains may have had an external
// effect: it is not run again if its end was not seen.
func (a *Attempt) runOnce(ctx context.Context) (outcome.Outcome, error) {
	env := a.Env
	network := len(env.Run.Spec.Domains) > 0
	tool, way := toolapi.ToolOneshot, (*box.WayOut)(nil)
	if network {
		var err error
		if way, err = box.OpenWayOut(ctx, env, a.Host.Box); err != nil {
			return outcome.Outcome{}, err
		}
		if !way.Exists() {
			return outcome.Outcome{}, box.WayOutMissing(env, "the run may reach nothing")
		}
		tool = toolapi.ToolOneshotNetwork
	}
	sandbox, err := box.Open(env, a.Host.Box)
	if err != nil {
		return outcome.Outcome{}, err
	}
	defer sandbox.Close()
	if way != nil {
		sandbox.WayOut = way
	}
	code := env.Run.Spec.Code
	args := toolapi.OneshotArgs{Language: code.Language, Source: code.Source, TimeoutMs: oneshot.Timeout(code.TimeoutMilliseconds, network)}
	call := turn.Call{Tool: tool, Arguments: oneshot.Arguments(args)}
	return a.once(ctx, sandbox, call, oneshot.Refuse(args, network), a.wireOneshot(way))
}

// once runs the loop of a run that has one call, which no model asked for. outer wraps the sandbox's tools for the call. If refused is not nil,
// it is the result and the call is not made.
func (a *Attempt) once(
	ctx context.Context, sandbox *box.Box, call turn.Call, refused *toolapi.Result, outer func(motorloop.Tools) motorloop.Tools,
) (outcome.Outcome, error) {
	env := a.Env
	sandbox.IsolationLost = runpolicy.IsolationLost(env.Run, runpolicy.ReadJournal(env.Run, env.Entries.AllSteps()))
	loop := &motorloop.Loop{
		// No person is asked about a call whose end was not seen: a repeatable call is repeated, and any other fails.
		Config:   config.Config{Attempt: runpolicy.CurrentAttempt(env.Run).Index, OnUnknown: turn.UnknownModel},
		Ready:    sandbox.Ready,
		Now:      env.APINow,
		Observer: a.Host.Observer,
		Logger:   env.Log,
	}
	turns := env.Entries.Turns()
	a.wireOnce(loop, sandbox, turns, outer)
	return loop.Once(ctx, turns, call, refused)
}

// oneshotTools rejects results of the tool server that are not valid oneshot results.
type oneshotTools struct{ motorloop.Tools }

// Call runs the code.
func (t oneshotTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	r, err := t.Tools.Call(ctx, c)
	if err != nil {
		return toolapi.Result{}, err
	}
	return oneshot.Clean(r), nil
}
