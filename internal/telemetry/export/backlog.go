// SPDX-License-Identifier: Apache-2.0

package export

import (
	"container/heap"
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
	// queued is true while it is in a queue, and touched if it was changed since it was taken from there.
	queued, touched bool
	// at is when there will be something to tell, zero for now.
	at time.Time
	// end is when the run ended, zero if it goes on.
	end time.Time
	// steps is how many of its steps are told at once, 0 for as many as of every run.
	steps int
	// gone is the run if it was deleted.
	gone *v1alpha1.MotorRun
	// failures is how often it was sent alone and not taken, and others how many sends of others succeeded before the first of them.
	failures, others int
}

// backlog knows which runs may have something to tell. It holds no spans: what is left follows from the runs and from how much was told, so that it has no
// more entries than there are runs, and those of maxGone deleted ones.
type backlog struct {
	mu sync.Mutex
	// from is the instant before which runs that ended are not told, and settled the one before which another process has told them.
	from, settled time.Time
	of            map[key]*entry
	// ready are the runs of which something is to be told now, and later those of which there will be.
	ready queue
	later schedule
	// queued is how many entries are in one of them.
	queued, gone int
	// wake has an element if something was queued.
	wake chan struct{}
}

func newBacklog() *backlog {
	return &backlog{of: map[key]*entry{}, wake: make(chan struct{}, 1)}
}

// begin sets the instant before which runs that ended are not told, and the one before which another process has told them.
func (b *backlog) begin(from, settled time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.from, b.settled = from, settled
}

// touch queues a run that has changed. It returns true if the run ended too early to be told, and after the instant before which another process has
// told all of them.
func (b *backlog) touch(run *v1alpha1.MotorRun) (lost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, end := keyOf(run), time.Time{}
	if run.Status.CompletionTime != nil {
		end = run.Status.CompletionTime.Time
	}
	e := b.of[k]
	if e == nil {
		if !ids.Of(run.UID, run.Annotations).Sampled {
			return false
		}
		if !end.IsZero() && end.Before(b.from) {
			return !b.settled.IsZero() && !end.Before(b.settled)
		}
		e = &entry{}
		b.of[k] = e
	}
	if e.end = end; !e.run {
		b.pushLocked(k, e, time.Time{})
	}
	return false
}

// settledAt returns the instant before which all runs that ended were told, or are lost: at most now. Of the others, each process tells what there is.
func (b *backlog) settledAt(now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.of {
		if !e.run && e.gone == nil && !e.end.IsZero() && e.end.Before(now) {
			now = e.end
		}
	}
	return now
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
		b.dropLocked(k, e)
		return false
	}
	b.gone++
	e.gone = deletedAt(run, now)
	b.pushLocked(k, e, time.Time{})
	return true
}

// pushLocked queues a run, to be looked at from an instant on, zero for now. The lock is held.
func (b *backlog) pushLocked(k key, e *entry, at time.Time) {
	e.touched = true
	switch {
	case e.queued && e.at.IsZero():
		// It is to be looked at now.
	case at.IsZero():
		e.at = at
		b.ready.push(k)
	default:
		e.at = at
		heap.Push(&b.later, due{k, at})
	}
	if !e.queued {
		e.queued = true
		b.queued++
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// dropLocked forgets a run. What a queue has of it is left out when it comes to that.
func (b *backlog) dropLocked(k key, e *entry) {
	if e.queued {
		b.queued--
	}
	delete(b.of, k)
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
	for len(b.later) > 0 {
		first := b.later[0]
		e := b.of[first.key]
		// It was queued for another instant, or dropped.
		outdated := e == nil || !e.queued || !e.at.Equal(first.at)
		if !outdated && first.at.After(now) {
			next = first.at
			break
		}
		heap.Pop(&b.later)
		if !outdated {
			e.at = time.Time{}
			b.ready.push(first.key)
		}
	}
	for len(list) < most {
		k, ok := b.ready.pop()
		if !ok {
			return list, next
		}
		if e := b.of[k]; e != nil && e.queued && e.at.IsZero() {
			e.queued, e.touched = false, false
			b.queued--
			list = append(list, taken{k, *e})
		}
	}
	return list, now
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
	if e.steps *= 2; e.steps >= maxSteps {
		e.steps = 0
	}
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

// shrink has fewer steps of a run be told at once. It returns false if there are no fewer.
func (b *backlog) shrink(k key, steps int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of[k]
	if e == nil || e.steps == 1 || steps < 2 {
		return false
	}
	e.steps = steps / 2
	return true
}

// waiting is how many runs may have something to tell.
func (b *backlog) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queued
}
