// SPDX-License-Identifier: Apache-2.0

// Package breaker stops the loops of a process from calling an endpoint that does not answer, and from resuming all
// at once when it does. All callers with the same key share the state of an endpoint. The state ends with the
// process: another process determines it again.
package breaker

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// maxEndpoints bounds the memory of a Registry: endpoints are named by the tenants of a cluster. The least recently used endpoints
	// are forgotten first.
	maxEndpoints = 512
	// opensAfter is how many failures in a row open the breaker. One failure alone may be about a single request.
	opensAfter = 3
	// firstPause doubles with each failure in a row, up to maxPause, or up to maxActPause if a person must act.
	firstPause  = time.Second
	maxPause    = time.Minute
	maxActPause = 2 * time.Minute
	// probePause is how soon to retry while another caller probes the endpoint.
	probePause = 2 * time.Second
	// unlimited is the number of concurrent requests from which there is no bound any more.
	unlimited = 64
)

// Registry has the endpoints that a process calls.
type Registry struct {
	// Now is the clock, time.Now if nil.
	Now func() time.Time

	mu     sync.Mutex
	byKey  map[string]*Endpoint
	visits int64
}

// Of returns the state of an endpoint. The key names everything on which its answers depend: tenant, address, model, API key.
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

// forget drops the endpoint that was not used for the longest time. A caller that still has it continues to use it.
func (r *Registry) forget() {
	oldest := ""
	for key, e := range r.byKey {
		if oldest == "" || e.visit < r.byKey[oldest].visit {
			oldest = key
		}
	}
	delete(r.byKey, oldest)
}

// Endpoint is the state of an endpoint.
//
//	        failures in a row              the pause is over
//	Closed ────────────────────► Open ────────────────────► one may try
//	   ▲                          ▲                          │      │
//	   │                          └──────── it failed ───────┘      │
//	   └──── few at a time, more with each answer ◄── it answered ──┘
type Endpoint struct {
	now func() time.Time
	// visit belongs to the Registry.
	visit int64

	mu sync.Mutex
	// failures is how many failures came in a row; they block requests for a pause. Concurrent requests that failed count as one:
	// they failed for the same reason.
	failures int
	// counted is how many failures were ever counted. The failure of a request that was sent when counted was lower does not count.
	counted   int
	openUntil time.Time
	probing   bool
	// asking is the number of concurrent requests, limit their maximum, 0 for no limit.
	asking, limit int
	// waiting are the callers that wait for one of these slots.
	waiting []*waiter
	last    error
	facts   Facts
}

// Facts are the properties of an endpoint that its own answers revealed.
type Facts struct {
	// Window is how many tokens a request and its answer may have together, 0 if the endpoint did not report it.
	Window int64
	// Fitted is how many tokens a request and its answer have had together at most.
	Fitted int64
	// NoUsage is true if it does not support stream_options, NoStream if it does not stream.
	NoUsage, NoStream bool
	// TakesKey is true if the latest request with the API key was answered, and not refused because of the key.
	TakesKey bool
	// SilentFor is how often the time for the first byte is doubled, up to MaxDoublings, because requests timed out before the first byte. An
	// endpoint that does not stream is silent until it has the whole answer.
	SilentFor int
	// ProvenFor is how much of SilentFor an answer has needed. A higher SilentFor is a guess, and is not used while the endpoint seems to be down.
	ProvenFor int
}

// MaxDoublings bounds Facts.SilentFor.
const MaxDoublings = 3

// WasSilent records a request that timed out before its first byte. Requests that were sent with the same timeout for it count once: they hang
// for the same reason.
func (f *Facts) WasSilent(sent Facts) {
	if f.SilentFor == sent.SilentFor {
		f.SilentFor = min(f.SilentFor+1, MaxDoublings)
	}
}

// Began records an answer whose first byte needed that many doublings. A stream begins about as fast each time. A short whole answer does
// not predict how long the next one takes.
func (f *Facts) Began(doublings int, stream bool) {
	if !stream {
		doublings = max(doublings, f.ProvenFor)
	}
	f.SilentFor, f.ProvenFor = doublings, doublings
}

// Verdict is the outcome of a request.
type Verdict struct {
	// Err is nil if the endpoint answered, also if it refused this particular request.
	Err error
	// MustAct is true if the failure does not pass by itself, Busy if the endpoint is overloaded.
	MustAct, Busy bool
	// RetryAfter is how long the endpoint asks all callers to wait, 0 if it does not ask.
	RetryAfter time.Duration
	// Unknown is true if the request proved nothing, because its caller gave up.
	Unknown bool
}

// Closed returns for how long the endpoint must not be called, and why, without acquiring a permit. It returns 0 if it may be called.
func (e *Endpoint) Closed() (wait time.Duration, last error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if wait = e.openUntil.Sub(e.now()); wait <= 0 || !e.isOpen() {
		return 0, nil
	}
	return Jittered(wait), e.last
}

func (e *Endpoint) isOpen() bool { return !e.openUntil.IsZero() }

// report records the outcome of a request. probe and sent are the values from when it was sent.
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
			// All waiting callers resume now: the endpoint gets one request at a time first.
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

// Facts returns the known facts of the endpoint. While the endpoint seems to be down, the timeout is not longer than it has ever needed:
// the caller that probes blocks all others.
func (e *Endpoint) Facts() Facts {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.facts
	if e.isOpen() {
		f.SilentFor = f.ProvenFor
	}
	return f
}

// Learn changes the facts of the endpoint.
func (e *Endpoint) Learn(change func(*Facts)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.facts)
}

// Pause returns how long to wait after so many failures in a row.
func Pause(failures int, mustAct bool) time.Duration {
	most := maxPause
	if mustAct {
		most = maxActPause
	}
	return min(most, firstPause<<min(max(failures-1, 0), 10))
}

// Jittered returns d and up to half as much again, to spread callers that would otherwise return at the same instant.
func Jittered(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/2+1)) //nolint:gosec // it spreads load, and nothing is secret about it
}
