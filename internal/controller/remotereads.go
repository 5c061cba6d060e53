// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"
)

// maxRemoteReads is how many sources outside of the cluster's API are read at the same time: fewer than there are passes, so that
// registries that hang do not keep other skills from being looked at.
const maxRemoteReads = maxSkillPasses / 2

// remoteReads shares the reads of sources that are outside of the cluster's API among namespaces. Of a namespace, one is read at a
// time, and then none for as long as that took: registries that hang take the time of their own namespace, and never all of the places.
type remoteReads struct {
	mu sync.Mutex
	// active counts reads, and reading has the namespaces that they are for.
	active  int
	reading map[string]bool
	// pauses say until when nothing is read for a namespace.
	pauses map[string]time.Time
}

// begin takes a place, which end gives back. Without one, try says when to ask again.
func (r *remoteReads) begin(namespace string, now time.Time) (try time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until := r.pauses[namespace]; now.Before(until) {
		return until, false
	}
	delete(r.pauses, namespace)
	if r.reading[namespace] || r.active == maxRemoteReads {
		return now.Add(minPause), false
	}
	if r.reading == nil {
		r.reading, r.pauses = map[string]bool{}, map[string]time.Time{}
	}
	r.reading[namespace] = true
	r.active++
	return time.Time{}, true
}

// end gives the place back after a read that took so long.
func (r *remoteReads) end(namespace string, now time.Time, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reading, namespace)
	r.active--
	if took >= minPause {
		r.pauses[namespace] = now.Add(took)
	}
	for other, until := range r.pauses {
		if !now.Before(until) {
			delete(r.pauses, other)
		}
	}
}
