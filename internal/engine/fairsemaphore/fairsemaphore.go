// SPDX-License-Identifier: Apache-2.0

// Package fairsemaphore shares a few permits among the loops of many namespaces.
package fairsemaphore

import (
	"context"
	"slices"
	"sync"
)

// Semaphore limits how many loops at a time do work that takes memory, or that two must not do at once, in FIFO order. A
// namespace has at most half of the permits, so that it cannot starve the others. The zero Semaphore is ready.
type Semaphore struct {
	mu sync.Mutex
	// holders are those that wait for a permit or have one, the first one first.
	holders []*holder
}

// holder waits for a permit or has one. acquired is closed, and hasPermit true, from when it has one.
type holder struct {
	namespace string
	hasPermit bool
	acquired  chan struct{}
}

// Acquire waits for one of the permits and returns the function that releases it. Every call for a Semaphore must pass the same number of
// permits. Another call of the returned function does nothing.
func (s *Semaphore) Acquire(ctx context.Context, namespace string, permits int) (release func(), err error) {
	h := &holder{namespace: namespace, acquired: make(chan struct{})}
	s.update(permits, func() { s.holders = append(s.holders, h) })
	release = func() {
		s.update(permits, func() { s.holders = slices.DeleteFunc(s.holders, func(other *holder) bool { return other == h }) })
	}
	select {
	case <-h.acquired:
	case <-ctx.Done():
	}
	// With both of them true, either may have been seen.
	if ctx.Err() != nil {
		release()
		return nil, context.Cause(ctx)
	}
	return release, nil
}

// Len returns how many wait for a permit or have one.
func (s *Semaphore) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holders)
}

// update changes the holders, and assigns free permits to those that wait. It skips those whose namespace has its half.
func (s *Semaphore) update(permits int, change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	taken, by := 0, map[string]int{}
	count := func(h *holder) { taken++; by[h.namespace]++ }
	for _, h := range s.holders {
		if h.hasPermit {
			count(h)
		}
	}
	for _, h := range s.holders {
		if !h.hasPermit && taken < permits && by[h.namespace] < max(1, permits/2) {
			h.hasPermit = true
			close(h.acquired)
			count(h)
		}
	}
}
