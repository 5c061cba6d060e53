// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"

	"motorcortex.dev/motorcortex/internal/motorloop/stopwatch"
)

// gate blocks tool calls until the sandbox is ready. It lets the wait for the sandbox and the first model call
// overlap: both take seconds, and neither needs the other.
type gate struct {
	ready  func(context.Context) error
	cancel context.CancelFunc // ends ready; nil until start
	done   chan struct{}      // closed when ready has returned
	err    error              // of ready, valid once done is closed
	// broken ends when ready has failed, after done.
	broken context.Context //nolint:containedctx // it is a signal, not a scope
	fail   context.CancelFunc
	// watch is told of the time that the sandbox takes, unless it is nil.
	watch *stopwatch.Stopwatch
}

func newGate(ready func(context.Context) error) *gate {
	g := &gate{ready: ready, done: make(chan struct{})}
	g.broken, g.fail = context.WithCancel(context.Background())
	if ready == nil {
		close(g.done)
	}
	return g
}

// start calls ready in the background, once.
func (g *gate) start(ctx context.Context) {
	if g.ready == nil || g.cancel != nil {
		return
	}
	ctx, g.cancel = context.WithCancel(ctx)
	go func() {
		g.err = g.callReady(ctx)
		close(g.done)
		if g.err != nil {
			g.fail()
		}
	}()
}

// callReady is ready, but a panic is an error: no other code could recover it here, and it would end the whole process.
func (g *gate) callReady(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = NewPanic(v)
		}
	}()
	return g.ready(ctx)
}

// wait returns when tools may be called, or with the reason why they may not.
func (g *gate) wait(ctx context.Context) error {
	g.start(ctx)
	if g.watch != nil {
		defer g.watch.Wait()()
	}
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failed returns the error of ready if it has failed, and nil if it succeeded or has not ended.
func (g *gate) failed() error {
	select {
	case <-g.done:
		return g.err
	default:
		return nil
	}
}

// onFailure calls f when ready fails, until the returned function is called.
func (g *gate) onFailure(f func()) (stop func() bool) { return context.AfterFunc(g.broken, f) }

// stop ends ready and waits for it, so that no goroutine of a Run outlives it.
func (g *gate) stop() {
	if g.cancel != nil {
		g.cancel()
		<-g.done
	}
	g.fail()
}
