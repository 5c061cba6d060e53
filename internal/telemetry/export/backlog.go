// SPDX-License-Identifier: Apache-2.0

package export

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/telemetry/ids"
)

// maxGone bounds the deleted runs that are kept because they are not told.
const maxGone = 256

// key is a run. With the UID, a run that was deleted differs from a later one of its name.
type key struct {
	namespace, name string
	uid             types.UID
}

func keyOf(run *v1alpha1.MotorRun) key { return key{run.Namespace, run.Name, run.UID} }

// entry is what is known about the telling of a run.
type entry struct {
	cursor
	// queued is true while it is in the queue, and touched if it was changed since it was taken from there.
	queued, touched bool
	// at is when there will be something to tell, zero for now.
	at time.Time
	// gone is the run if it was deleted.
	gone *v1alpha1.MotorRun
	// failures is how often it was sent alone and not taken, and others how many sends of others succeeded before the first of them.
	failures, others int
}

// backlog knows which runs may have something to tell. It holds no spans: what is left follows from the runs and from how much was told, so that it has no
// more entries than there are runs, and those of maxGone deleted ones.
type backlog struct {
	mu sync.Mutex
	// from is the instant before which runs that ended were told by another process.
	from  time.Time
	of    map[key]*entry
	queue []key
	gone  int
	// wake has an element if something was queued.
	wake chan struct{}
}

func newBacklog() *backlog {
	return &backlog{of: map[key]*entry{}, wake: make(chan struct{}, 1)}
}

// begin sets the instant before which runs that ended were told by another process.
func (b *backlog) begin(from time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.from = from
}

// touch queues a run that has changed.
func (b *backlog) touch(run *v1alpha1.MotorRun) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := keyOf(run)
	e := b.of[k]
	if e == nil {
		end := run.Status.CompletionTime
		if end != nil && end.Time.Before(b.from) || !ids.Of(run.UID, run.Annotations).Sampled {
			return
		}
		e = &entry{}
		b.of[k] = e
	}
	if !e.run {
		b.pushLocked(k, e, time.Time{})
	}
}

// touchStep queues the run of a step that has changed. Runs that are not known yet are touched by themselves.
func (b *backlog) touchStep(k key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.of[k]; e != nil && !e.run {
		b.pushLocked(k, e, time.Time{})
	}
}

// depart notes that a run was deleted. It returns false if too many are kept, and this one is lost.
func (b *backlog) depart(run *v1alpha1.MotorRun, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := keyOf(run)
	e := b.of[k]
	switch {
	case e == nil || e.gone != nil:
		return true
	case e.run && !e.queued:
		delete(b.of, k)
		return true
	case b.gone == maxGone:
		delete(b.of, k)
		return false
	}
	b.gone++
	e.gone = deletedAt(run, now)
	b.pushLocked(k, e, time.Time{})
	return true
}

// pushLocked queues a run, to be looked at from an instant on. The lock is held.
func (b *backlog) pushLocked(k key, e *entry, at time.Time) {
	e.at, e.touched = at, true
	if !e.queued {
		e.queued = true
		b.queue = append(b.queue, k)
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// taken is an entry as it was when it was taken.
type taken struct {
	key
	entry
}

// take takes at most that many runs of which something is to be told now, in their order, and returns when the next one will be, zero for never.
func (b *backlog) take(now time.Time, most int) (list []taken, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.queue[:0]
	for i, k := range b.queue {
		e := b.of[k]
		switch {
		case len(list) == most:
			kept = append(kept, b.queue[i:]...)
			clear(b.queue[len(kept):])
			b.queue = kept
			return list, now
		case e == nil:
			// It was deleted.
		case e.at.After(now):
			if next.IsZero() || e.at.Before(next) {
				next = e.at
			}
			kept = append(kept, k)
		default:
			e.queued, e.touched = false, false
			list = append(list, taken{k, *e})
		}
	}
	clear(b.queue[len(kept):])
	b.queue = kept
	return list, next
}

// told notes how much of a run was told. A run is queued again if there is more at an instant, zero for now.
func (b *backlog) told(k key, next cursor, more bool, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of[k]
	if e == nil {
		return
	}
	e.cursor, e.failures = next, 0
	switch {
	case more:
		b.pushLocked(k, e, time.Time{})
	case e.touched:
		// It was changed meanwhile, and is in the queue.
	case !at.IsZero():
		b.pushLocked(k, e, at)
	case e.gone != nil:
		b.gone--
		delete(b.of, k)
	}
}

// again queues a run that could not be told, behind all others. alone says that it was the only one. It returns how often that was so, and how many sends of
// others succeeded since the first time.
func (b *backlog) again(k key, alone bool, sends int) (failures, others int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of[k]
	if e == nil {
		return 0, 0
	}
	if alone {
		if e.failures == 0 {
			e.others = sends
		}
		e.failures++
	}
	b.pushLocked(k, e, time.Time{})
	return e.failures, sends - e.others
}

// forget drops a run that there is not any more and that is not kept.
func (b *backlog) forget(k key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.of[k]; e != nil && e.gone == nil && !e.touched {
		delete(b.of, k)
	}
}

// waiting is how many runs may have something to tell.
func (b *backlog) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}
