// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"slices"
	"time"
)

// Away reports that the endpoint must not be called now.
type Away struct {
	// Wait is how long to wait before calling Enter again.
	Wait time.Duration
	// Last is why the last request failed.
	Last error
}

func (a *Away) Error() string { return "not to be asked now: " + a.Last.Error() }

// Unwrap returns the last failure.
func (a *Away) Unwrap() error { return a.Last }

// waiter waits for a slot among the concurrent requests. There are at most as many as loops of the process.
type waiter struct {
	// done is closed when the waiter need not wait any more: then report or away is set.
	done   chan struct{}
	report func(Verdict)
	away   *Away
}

// Enter waits for a permit to send a request. Callers wait in FIFO order if the number of concurrent requests is limited.
// It returns a function that reports the outcome of the request; the caller must call it once. The error is an *Away, or ctx's.
func (e *Endpoint) Enter(ctx context.Context) (report func(Verdict), err error) {
	w := &waiter{done: make(chan struct{})}
	e.mu.Lock()
	e.waiting = append(e.waiting, w)
	e.serve()
	e.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		if e.leave(w) {
			return nil, ctx.Err()
		}
	}
	if w.away != nil {
		return nil, w.away
	}
	return w.report, nil
}

// leave removes a waiter that gave up from the queue. It returns false if the waiter was served already.
func (e *Endpoint) leave(w *waiter) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.Index(e.waiting, w)
	if i < 0 {
		return false
	}
	e.waiting = slices.Delete(e.waiting, i, i+1)
	return true
}

// serve assigns slots to waiting callers in FIFO order, and rejects all of them while the endpoint must not be called.
func (e *Endpoint) serve() {
	for len(e.waiting) > 0 {
		w := e.waiting[0]
		switch away := e.away(); {
		case away != nil:
			w.away = away
		case e.limit > 0 && e.asking >= e.limit:
			return
		default:
			w.report = e.admit()
		}
		e.waiting = e.waiting[1:]
		close(w.done)
	}
}

// away returns an *Away if the endpoint must not be called now, nil if it may be.
func (e *Endpoint) away() *Away {
	switch now := e.now(); {
	case now.Before(e.openUntil):
		return &Away{Wait: Jittered(e.openUntil.Sub(now)), Last: e.last}
	case e.isOpen() && e.probing:
		return &Away{Wait: Jittered(probePause), Last: e.last}
	}
	return nil
}

func (e *Endpoint) admit() func(Verdict) {
	e.asking++
	probe := e.isOpen()
	e.probing = e.probing || probe
	sent := e.counted
	return func(v Verdict) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.report(v, probe, sent)
		e.serve()
	}
}
