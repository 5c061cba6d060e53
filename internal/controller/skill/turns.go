// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"runtime"
	"sync"
	"time"
)

// maxRemoteReads bounds the sources outside of the cluster's API that are read at the same time. It is smaller than the number of passes, so that
// registries that hang do not delay other skills.
const maxRemoteReads = maxPasses / 2

// reviewRetry is the pause before a review that found no free slot is tried again. Most reviews take milliseconds.
const reviewRetry = time.Second

// maxReviews returns how many reviews run at the same time. One review keeps a processor busy, for 15 s with the worst files: the leader needs a
// processor for its Lease and for everything else.
func maxReviews() int { return max(1, runtime.GOMAXPROCS(0)-1) }

// turns share slow work among namespaces. A namespace has one turn at a time, and then none for as long as that took: slow work uses the time of
// its own namespace, and never all of the slots.
type turns struct {
	mu sync.Mutex
	// taken has the namespaces that have a turn now.
	taken map[string]bool
	// pauses has the time until which a namespace gets no turn.
	pauses map[string]time.Time
}

// begin takes one of the slots, which end releases. If none is free, try is when to ask again.
func (t *turns) begin(namespace string, now time.Time, places int, retry time.Duration) (try time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := t.pauses[namespace]; now.Before(until) {
		return until, false
	}
	delete(t.pauses, namespace)
	if t.taken[namespace] || len(t.taken) >= places {
		return now.Add(retry), false
	}
	if t.taken == nil {
		t.taken, t.pauses = map[string]bool{}, map[string]time.Time{}
	}
	t.taken[namespace] = true
	return time.Time{}, true
}

// end releases the slot after work that took the given time. Work shorter than shortest causes no pause.
func (t *turns) end(namespace string, now time.Time, took, shortest time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, namespace)
	if took >= shortest {
		t.pauses[namespace] = now.Add(took)
	}
	for other, until := range t.pauses {
		if !now.Before(until) {
			delete(t.pauses, other)
		}
	}
}
