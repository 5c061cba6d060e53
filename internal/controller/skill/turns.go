// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"runtime"
	"sync"
	"time"
)

// maxRemoteReads is how many sources outside of the cluster's API are read at the same time: fewer than there are passes, so that
// registries that hang do not keep other skills from being looked at.
const maxRemoteReads = maxPasses / 2

// reviewRetry is how soon a review that found no place is tried again. Most reviews take milliseconds.
const reviewRetry = time.Second

// maxReviews is how many reviews go on at the same time. One keeps a processor busy, for 15 s with the worst files: the leader needs
// one for its Lease and for everything else.
func maxReviews() int { return max(1, runtime.GOMAXPROCS(0)-1) }

// turns share what takes long among namespaces. Of a namespace, one has its turn at a time, and then none for as long as that
// took: what is slow takes the time of its own namespace, and never all of the places.
type turns struct {
	mu sync.Mutex
	// taken has the namespaces that have their turn.
	taken map[string]bool
	// pauses say until when a namespace has none.
	pauses map[string]time.Time
}

// begin takes one of so many places, which end gives back. Without one, try says when to ask again.
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

// end releases the place after what took so long. What is shorter than shortest is not paused for.
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
