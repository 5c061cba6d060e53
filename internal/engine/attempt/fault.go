// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// FaultPoint is a point in the life of a step at which a test can break the loop.
type FaultPoint string

const (
	// BeforeIntent: the model has answered, and nothing of that is recorded.
	BeforeIntent FaultPoint = "BeforeIntent"
	// AfterIntent: the step is recorded, and none of its calls was made.
	AfterIntent FaultPoint = "AfterIntent"
	// AfterDispatch: the sandbox runs a call of the step, or has run it.
	AfterDispatch FaultPoint = "AfterDispatch"
	// AfterResult: a call's result has come back and is not recorded.
	AfterResult FaultPoint = "AfterResult"
	// AfterSettle: the results of the step's calls are recorded.
	AfterSettle FaultPoint = "AfterSettle"
)

// Fault is called at each point of each step. If the context has ended when it returns, the loop does nothing more.
type Fault func(ctx context.Context, point FaultPoint, run *v1alpha1.MotorRun, step int32)

// faultyLoop wraps the journal and the sandbox of a loop, and calls a Fault at each point.
type faultyLoop struct {
	fault   Fault
	run     *v1alpha1.MotorRun
	journal motorloop.Journal
	sandbox *box.Box
	// step is the last one in the journal.
	step int32
}

// newFaultyLoop returns the wrapper between a loop and its journal and sandbox in a test, nil elsewhere. turns are those of the journal.
func (a *Attempt) newFaultyLoop(sandbox *box.Box, turns []*turn.Turn) *faultyLoop {
	if a.Host.Fault == nil {
		return nil
	}
	return &faultyLoop{fault: a.Host.Fault, run: a.Env.Run, sandbox: sandbox, step: int32(len(turns))}
}

func (f *faultyLoop) at(ctx context.Context, point FaultPoint) error {
	f.fault(ctx, point, f.run, f.step)
	return ctx.Err()
}

// Append records a step.
func (f *faultyLoop) Append(ctx context.Context, t *turn.Turn) error {
	f.step = t.Index
	if err := f.at(ctx, BeforeIntent); err != nil {
		return err
	}
	if err := f.journal.Append(ctx, t); err != nil {
		return err
	}
	return f.at(ctx, AfterIntent)
}

// Settle records the results of a step's calls.
func (f *faultyLoop) Settle(ctx context.Context, t *turn.Turn) error {
	if err := f.journal.Settle(ctx, t); err != nil {
		return err
	}
	return f.at(ctx, AfterSettle)
}

// SettleLater is Settle, but for the write.
func (f *faultyLoop) SettleLater(t *turn.Turn) func(context.Context) error {
	write := f.journal.SettleLater(t)
	if write == nil {
		return nil
	}
	return func(ctx context.Context) error {
		if err := write(ctx); err != nil {
			return err
		}
		return f.at(ctx, AfterSettle)
	}
}

// Call runs a call of the last step.
func (f *faultyLoop) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	looked := make(chan bool, 1)
	go func() {
		dispatched := f.dispatched(looking, c.ID)
		if dispatched {
			f.fault(ctx, AfterDispatch, f.run, f.step)
		}
		looked <- dispatched
	}()
	res, err := f.sandbox.Call(ctx, c)
	stop()
	if seen := <-looked; err == nil && !seen {
		err = f.at(ctx, AfterDispatch)
	}
	if err == nil {
		err = f.at(ctx, AfterResult)
	}
	return res, err
}

// dispatched waits until the sandbox knows the call. It stops when ctx ends, which happens when the call has ended.
func (f *faultyLoop) dispatched(ctx context.Context, id string) bool {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if state, err := f.sandbox.Client.State(ctx, id); err == nil && state.Phase != toolapi.CallAbsent {
			return true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
}
