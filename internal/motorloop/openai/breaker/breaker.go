// SPDX-License-Identifier: Apache-2.0

// Package breaker keeps the loops of a process from asking an endpoint that does not answer, and from coming back to it all
// at once when it does. What it knows of an endpoint is shared by all who ask it under the same key, and is forgotten with the
// process: another one finds it out again.
package breaker

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// maxEndpoints bounds the memory of a Registry: endpoints are named by the tenants of a cluster. Those that were not asked
	// for the longest time are forgotten first.
	maxEndpoints = 512
	// opensAfter is how many failures in a row keep everybody from asking. One alone may be about a single request.
	opensAfter = 3
	// firstPause doubles with each failure in a row, up to maxPause, where somebody must act up to maxActPause.
	firstPause  = time.Second
	maxPause    = time.Minute
	maxActPause = 2 * time.Minute
	// probePause is how soon to look again while somebody else finds out whether the endpoint answers.
	probePause = 2 * time.Second
	// unlimited is how many may ask at the same time when there is no bound any more.
	unlimited = 64
)

// Registry has the endpoints that a process asks.
type Registry struct {
	// Now is the clock, time.Now if nil.
	Now func() time.Time

	mu     sync.Mutex
	byKey  map[string]*Endpoint
	visits int64
}

// Of returns the state of an endpoint. The key names everything on which its answers depend: who asks, address, model, API key.
func (r *Registry) Of(key string) *Endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visits++
	e := r.byKey[key]
	if e == nil {
		if r.byKey == nil {
			r.byKey = map[string]*Endpoint{}
		}
		if len(r.byKey) >= maxEndpoints {
			r.forget()
		}
		now := r.Now
		if now == nil {
			now = time.Now
		}
		e = &Endpoint{now: now}
		r.byKey[key] = e
	}
	e.visit = r.visits
	return e
}

// forget drops the endpoint that was not asked for the longest time. Whoever still has it goes on with it.
func (r *Registry) forget() {
	oldest := ""
	for key, e := range r.byKey {
		if oldest == "" || e.visit < r.byKey[oldest].visit {
			oldest = key
		}
	}
	delete(r.byKey, oldest)
}

// Endpoint is what is known of an endpoint.
//
//	        failures in a row              the pause is over
//	Closed ────────────────────► Open ────────────────────► one may try
//	   ▲                          ▲                          │      │
//	   │                          └──────── it failed ───────┘      │
//	   └──── few at a time, more with each answer ◄── it answered ──┘
type Endpoint struct {
	now func() time.Time
	// visit is the Registry's.
	visit int64

	mu sync.Mutex
	// failures in a row, and until when nobody asks because of them. Requests that were on their way together and failed count as one:
	// they failed of the same thing.
	failures int
	// counted is how many failures were ever counted. A request that was sent when it was less is not counted any more.
	counted   int
	openUntil time.Time
	probing   bool
	// asking is how many ask now, limit how many may at the same time, 0 for any number.
	asking, limit int
	// waiting are those who wait for one of these places.
	waiting []*waiter
	last    error
	facts   Facts
}

// Facts are what an endpoint's own answers taught about it.
type Facts struct {
	// Window is how many tokens a request and its answer may have together, 0 if the endpoint did not say.
	Window int64
	// Fitted is how many tokens a request and its answer have had together at most.
	Fitted int64
	// NoUsage says that it does not take stream_options, NoStream that it does not stream.
	NoUsage, NoStream bool
	// TakesKey says that the last that is known of the API key is that a request with it was answered, and not refused for it.
	TakesKey bool
	// SilentFor is how often the time for the first byte is doubled, up to MaxDoublings, because answers were given up before theirs. An
	// endpoint that does not stream is silent until it has the whole answer.
	SilentFor int
	// ProvenFor is how much of SilentFor an answer has needed. More than that is a guess, and not made while the endpoint seems to be away.
	ProvenFor int
}

// MaxDoublings bounds Facts.SilentFor.
const MaxDoublings = 3

// WasSilent notes a request that was given up before its first byte. Those that were sent with the same time for it count once: they hang
// for the same reason.
func (f *Facts) WasSilent(sent Facts) {
	if f.SilentFor == sent.SilentFor {
		f.SilentFor = min(f.SilentFor+1, MaxDoublings)
	}
}

// Began notes an answer whose first byte needed that many doublings. A stream begins about as fast each time; a whole answer that was
// short does not say how long the next one takes.
func (f *Facts) Began(doublings int, stream bool) {
	if !stream {
		doublings = max(doublings, f.ProvenFor)
	}
	f.SilentFor, f.ProvenFor = doublings, doublings
}

// Verdict is what became of a request.
type Verdict struct {
	// Err is nil if the endpoint answered, also if the answer was that it does not take this very request.
	Err error
	// MustAct says that the failure does not pass by itself, Busy that the endpoint has too much to do.
	MustAct, Busy bool
	// RetryAfter is how long the endpoint asks everybody to wait, 0 if it does not say.
	RetryAfter time.Duration
	// Unknown says that nothing was learnt: whoever asked gave up.
	Unknown bool
}

// Closed says for how long the endpoint is not to be asked, and why, without asking for leave. It gives 0 if it may be.
func (e *Endpoint) Closed() (wait time.Duration, last error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if wait = e.openUntil.Sub(e.now()); wait <= 0 || !e.isOpen() {
		return 0, nil
	}
	return Jittered(wait), e.last
}

func (e *Endpoint) isOpen() bool { return !e.openUntil.IsZero() }

// report takes what became of a request into account. probe and sent are of when it was sent.
func (e *Endpoint) report(v Verdict, probe bool, sent int) {
	e.asking--
	if probe {
		e.probing = false
	}
	switch {
	case v.Unknown:
		return
	case v.Err == nil:
		if e.isOpen() && e.limit == 0 {
			// All who waited come now: the endpoint is given one after the other first.
			e.limit = 1
		}
		e.failures, e.openUntil, e.last = 0, time.Time{}, nil
		if e.limit > 0 {
			if e.limit *= 2; e.limit > unlimited {
				e.limit = 0
			}
		}
		return
	}
	e.last = v.Err
	counts := sent == e.counted
	if counts {
		e.failures++
		e.counted++
		if v.Busy {
			e.limit = max(1, e.asking/2)
		}
	}
	if v.MustAct || v.RetryAfter > 0 || counts && e.failures >= opensAfter || probe {
		pause := v.RetryAfter
		if pause <= 0 || e.failures >= opensAfter {
			pause = max(pause, Pause(e.failures, v.MustAct))
		}
		until := e.now().Add(pause)
		if until.After(e.openUntil) {
			e.openUntil = until
		}
	}
}

// Facts returns what is known of the endpoint. While it seems to be away, no more silence is borne than it has ever needed: whoever tries
// keeps all others waiting.
func (e *Endpoint) Facts() Facts {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.facts
	if e.isOpen() {
		f.SilentFor = f.ProvenFor
	}
	return f
}

// Learn changes what is known of the endpoint.
func (e *Endpoint) Learn(change func(*Facts)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.facts)
}

// Pause is how long to wait after so many failures in a row.
func Pause(failures int, mustAct bool) time.Duration {
	most := maxPause
	if mustAct {
		most = maxActPause
	}
	return min(most, firstPause<<min(max(failures-1, 0), 10))
}

// Jittered spreads those who would otherwise come back at the same instant: it gives d and up to half as much again.
func Jittered(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/2+1)) //nolint:gosec // it spreads load, and nothing is secret about it
}
