// SPDX-License-Identifier: Apache-2.0

// Package replica decides which replica of the manager carries a run on, and which replicas live.
package replica

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// defaultTerm is the term of a Lease that sets none.
const defaultTerm = 10 * time.Second

// Worker is a replica of the manager that lives, as far as the observer can see.
type Worker struct {
	// ID of its process.
	ID string
	// Renewed is true if its Lease was seen to be renewed, so that it does not live by the benefit of the doubt alone.
	Renewed bool
	// Slots is how many runs it carries on at once, 0 if it does not say.
	Slots int
}

// Slots returns how many runs the workers carry on at once together. It reports false if one of them does not say, or there are none.
func Slots(workers []Worker) (total int, bounded bool) {
	for _, w := range workers {
		if w.Slots <= 0 {
			return 0, false
		}
		total += w.Slots
	}
	return total, total > 0
}

// Lives reports whether the worker of that id is among them.
func Lives(id string, workers []Worker) bool {
	return slices.ContainsFunc(workers, func(w Worker) bool { return w.ID == id })
}

// Place returns the worker for a run: the current one while that lives, else the one with the fewest runs. It returns "" if none lives. load counts
// the runs by worker.
func Place(current string, workers []Worker, load map[string]int) string {
	if Lives(current, workers) {
		return current
	}
	candidates := workers
	if renewed := slices.DeleteFunc(slices.Clone(workers), func(w Worker) bool { return !w.Renewed }); len(renewed) > 0 {
		candidates = renewed
	}
	if len(candidates) == 0 {
		return ""
	}
	return slices.MinFunc(candidates, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(load[a.ID], load[b.ID]), cmp.Compare(a.ID, b.ID))
	}).ID
}

// Heartbeat is the content of a Lease about its holder.
type Heartbeat struct {
	// Holder is the worker, "" if it has released the Lease.
	Holder string
	// Renewed is when it did so last, by its own clock. It is only compared with its former value.
	Renewed time.Time
	// Slots is how many runs it carries on at once, 0 if it does not say.
	Slots int
	// Term is how long it lives without renewing again.
	Term time.Duration
	// Taken is true if the holder took the Lease over from a process of the same Pod that had not released it.
	Taken bool
}

// Heartbeats decides which workers live from the Leases that were observed. It uses the times at which the observer saw a Lease change, and no time
// in the Lease, because no two clocks of a cluster agree. It is not safe for concurrent use.
type Heartbeats struct {
	// seen has the last sighting of each Lease, by name.
	seen map[string]sighting
}

type sighting struct {
	Heartbeat
	// at is when the observer first saw the Lease like this.
	at      time.Time
	renewed bool
}

func (s *sighting) lives(now time.Time) bool {
	return s.Holder != "" && now.Before(s.lapse())
}

func (s *sighting) lapse() time.Time { return s.at.Add(s.Term) }

// Observe records the present state of a Lease. An unknown Lease counts as renewed now: an observer that has just started must not take every run
// away from its worker.
func (h *Heartbeats) Observe(lease string, beat Heartbeat, now time.Time) {
	if beat.Term <= 0 {
		beat.Term = defaultTerm
	}
	was, known := h.seen[lease]
	if known && was.Holder == beat.Holder && was.Term == beat.Term && was.Slots == beat.Slots && was.Renewed.Equal(beat.Renewed) {
		return
	}
	if h.seen == nil {
		h.seen = map[string]sighting{}
	}
	if len(h.Live(now)) == 0 {
		h.startAnew(now)
	}
	h.seen[lease] = sighting{Heartbeat: beat, at: now, renewed: known && was.Holder == beat.Holder}
}

// startAnew starts another term for each replica. When no replica was seen to live, the observer is the one that saw nothing: the API server was
// away, or the process stood still. The first one to be seen again must not get the runs of all others.
func (h *Heartbeats) startAnew(now time.Time) {
	for lease, s := range h.seen {
		s.at, s.renewed = now, false
		h.seen[lease] = s
	}
}

// Lost reports whether a worker ended, or stands still, without having released its Lease: the Lease expired, or the next process of the same Pod
// took it. A worker that releases its Lease deletes it.
func (h *Heartbeats) Lost(id string, now time.Time) bool {
	for lease, s := range h.seen {
		switch {
		case s.Holder == id:
			return !s.lives(now)
		case s.Taken && lease == LeaseName(podOf(id)):
			return true
		}
	}
	return false
}

// LeaseName returns the name of the Lease by which the manager of a Pod shows that it lives.
func LeaseName(pod string) string { return "motorcortex-worker-" + pod }

// WorkerID names a process of a Pod.
func WorkerID(pod, process string) string { return pod + "-" + process }

func podOf(id string) string { return id[:max(strings.LastIndexByte(id, '-'), 0)] }

// Forget records that a Lease is gone, and its holder with it.
func (h *Heartbeats) Forget(lease string) { delete(h.seen, lease) }

// Live returns the workers that live, ordered by id.
func (h *Heartbeats) Live(now time.Time) []Worker {
	var workers []Worker
	for _, s := range h.seen {
		if s.lives(now) {
			workers = append(workers, Worker{ID: s.Holder, Renewed: s.renewed, Slots: s.Slots})
		}
	}
	slices.SortFunc(workers, func(a, b Worker) int { return cmp.Compare(a.ID, b.ID) })
	return workers
}

// NextLapse returns when the first of the live workers lapses unless it is seen to renew, zero if none lives.
func (h *Heartbeats) NextLapse(now time.Time) time.Time {
	var next time.Time
	for _, s := range h.seen {
		if s.lives(now) && (next.IsZero() || s.lapse().Before(next)) {
			next = s.lapse()
		}
	}
	return next
}
