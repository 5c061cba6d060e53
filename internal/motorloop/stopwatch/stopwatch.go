// SPDX-License-Identifier: Apache-2.0

// Package stopwatch measures the time of a loop that is its own: the time in which it waits for no model, no tool and no sandbox.
package stopwatch

import (
	"sync"
	"time"
)

// Stopwatch measures the time since a start without the waits in it. Waits can overlap, because calls are made side by side: a time in which there are two
// of them counts once. The zero value measures with time.Now and has not been started.
type Stopwatch struct {
	// Now is the clock, time.Now if nil. It should be monotonic.
	Now func() time.Time

	mu sync.Mutex
	// started is when the measurement began, zero before the first one.
	started time.Time
	// waiting counts the waits that go on, since when there is at least one, and waited is the time of those that are over.
	waiting int
	since   time.Time
	waited  time.Duration
}

func (s *Stopwatch) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// Wait begins a wait, which the returned function ends.
func (s *Stopwatch) Wait() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == 0 {
		s.since = s.now()
	}
	s.waiting++
	return sync.OnceFunc(s.end)
}

func (s *Stopwatch) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting--; s.waiting == 0 {
		s.waited += s.now().Sub(s.since)
	}
}

// Lap returns the time since the last Lap without the waits, and starts anew. The first call returns false: there is nothing that the time could be
// measured from.
func (s *Stopwatch) Lap() (own time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, waited := s.now(), s.waited
	if s.waiting > 0 {
		waited += now.Sub(s.since)
		s.since = now
	}
	own, ok = max(now.Sub(s.started)-waited, 0), !s.started.IsZero()
	s.started, s.waited = now, 0
	if !ok {
		own = 0
	}
	return own, ok
}
