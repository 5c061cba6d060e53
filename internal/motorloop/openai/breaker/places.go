// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"slices"
	"time"
)

// Away says that the endpoint is not to be asked now.
type Away struct {
	// Wait is how long to wait before asking for leave again.
	Wait time.Duration
	// Last is why the last request failed.
	Last error
}

func (a *Away) Error() string { return "not to be asked now: " + a.Last.Error() }

// Unwrap returns the last failure.
func (a *Away) Unwrap() error { return a.Last }

// waiter is one who waits for a place among those who may ask at the same time. There are as many as loops of the process at most.
type waiter struct {
	// done is closed when it need not wait any more: then report or away is set.
	done   chan struct{}
	report func(Verdict)
	away   *Away
}

// Enter asks for leave to send a request, and waits for its turn where only so many may ask at the same time: who came first is first.
// With leave it gives the function to report what became of the request, which must be called once. The error is an *Away, or ctx's.
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

// leave takes one who gave up out of the queue. It reports false for one who was served already.
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

// serve assigns places to those who wait, in the order in which they came, and sends all of them away while the endpoint is not to be asked.
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

// away reports whether the endpoint is not to be asked now, nil if it may be.
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
