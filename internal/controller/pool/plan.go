// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const (
	// maxStarting bounds how many sandboxes of a pool start at the same time. More would take the node from the runs that have just taken theirs.
	maxStarting = 4
	// unscheduledFor is how long a sandbox may wait for a node. Longer, and it would take the next room that a run needs.
	unscheduledFor = 30 * time.Second
	// quietAfter is how long a pool waits after a run took a sandbox before it makes another one, quietAtMost the most that it waits when one run comes
	// after the other. Pods that start take the processors from the runs that have just begun.
	quietAfter, quietAtMost = time.Second, 5 * time.Second
	// refusedPause is the pause after a sandbox could not be made, scheduled, started or proved.
	refusedPause = 30 * time.Second
)

// member is a sandbox of a pool as one pass sees it.
type member struct {
	pod   *corev1.Pod
	state sandbox.State
	// current is true if the pool would make it in the same way today.
	current bool
	// standing is whether its isolation is proved, and whether a run takes it.
	standing
	// cordoned is true if its node takes no new Pods.
	cordoned bool
}

// ready reports whether a run can take the sandbox.
func (m *member) ready() bool { return m.state.Phase == sandbox.Running && m.proved && !m.cordoned }

// wish is what a pool is to be.
type wish struct {
	replicas int
	// unseen is how many sandboxes were made that the pass does not see yet.
	unseen                     int
	maxAge                     time.Duration
	startTimeout, proveTimeout time.Duration
	// quiet is how long no sandboxes are made because runs have taken some, 0 if some are made.
	quiet time.Duration
	// paused is true for a while after a sandbox could not be had.
	paused bool
}

// plan is what one pass does to a pool.
type plan struct {
	remove []*corev1.Pod
	// create is how many are made.
	create int
	// total and ready are how many sandboxes the pool has before those are made, and how many of them a run can take. One that is not as the pool
	// makes it today fits none.
	total, ready int
	// failed is why a sandbox is removed that could not start or be proved, nil if none is.
	failed *failure
	// wake is when the next of them is due for removal, zero if none is.
	wake time.Time
}

// failure is why a pool lacks a sandbox, as a condition has it.
type failure struct{ reason, message string }

// planFor decides which sandboxes of a pool are removed and how many are made. Sandboxes that are too old are replaced one after the other: they go when
// their replacement is ready. Those that are as the pool makes none any more fit no run, and go at once.
func planFor(members []member, w wish, now time.Time) plan {
	var p plan
	fresh, stale := p.sort(members, w, now)
	fresh, stale = p.trim(fresh, stale, w)
	p.create = p.missing(fresh, stale, w, now)
	p.total = len(fresh) + len(stale) + w.unseen
	p.ready = readyOf(fresh) + readyOf(stale)
	return p
}

// sort removes the sandboxes that no run can take any more, and returns the others: those that stay, and those that are to be replaced.
func (p *plan) sort(members []member, w wish, now time.Time) (fresh, stale []member) {
	for _, m := range members {
		f, due := m.fails(w, now)
		p.wakeAt(due)
		if f == nil && m.endsAtOnce() {
			f = &failure{m.state.Reason, m.state.Message}
		}
		old := !now.Before(m.oldAt(w))
		switch {
		case f != nil:
			p.failed = f
			p.remove = append(p.remove, m.pod)
		case m.spent(), m.taken && old:
			p.remove = append(p.remove, m.pod)
		case m.taken:
			// It is the run's, though the pass does not see that yet, and does not count. If the write is lost and the run is gone, it goes with its age.
			p.wakeAt(m.oldAt(w))
		case !m.current:
			// No run of today has that shape.
			p.remove = append(p.remove, m.pod)
		case old:
			stale = append(stale, m)
		default:
			p.wakeAt(m.oldAt(w))
			fresh = append(fresh, m)
		}
	}
	return fresh, stale
}

// missing returns how many sandboxes are made now.
func (p *plan) missing(fresh, stale []member, w wish, now time.Time) int {
	missing := w.replicas - len(fresh) - w.unseen
	switch {
	case missing <= 0 || w.paused || p.failed != nil:
		return 0
	case w.quiet > 0:
		p.wakeAt(now.Add(w.quiet))
		return 0
	}
	starting := len(fresh) - readyOf(fresh) + w.unseen
	surge := min(1, len(stale))
	return max(0, min(missing, maxStarting-starting, w.replicas+surge-len(fresh)-len(stale)-w.unseen))
}

func readyOf(members []member) (n int) {
	for _, m := range members {
		if m.ready() {
			n++
		}
	}
	return n
}

// trim removes the sandboxes that are too many: stale ones for which there is a ready one, then those that are not ready, then the oldest.
func (p *plan) trim(fresh, stale []member, w wish) (keptFresh, keptStale []member) {
	keep := max(0, w.replicas-readyOf(fresh))
	slices.SortFunc(stale, lessUseful)
	for len(stale) > keep {
		p.remove, stale = append(p.remove, stale[0].pod), stale[1:]
	}
	slices.SortFunc(fresh, lessUseful)
	for len(fresh) > w.replicas {
		p.remove, fresh = append(p.remove, fresh[0].pod), fresh[1:]
	}
	return fresh, stale
}

// wakeAt asks for the next pass at an instant, if no earlier one was asked for.
func (p *plan) wakeAt(at time.Time) {
	if !at.IsZero() && (p.wake.IsZero() || at.Before(p.wake)) {
		p.wake = at
	}
}

// lessUseful orders sandboxes by how little a run has from them: those that it cannot take yet, then the oldest.
func lessUseful(a, b member) int { return cmp.Or(compareBool(a.ready(), b.ready()), older(a, b)) }

func older(a, b member) int {
	return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), cmp.Compare(a.pod.Name, b.pod.Name))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (m *member) oldAt(w wish) time.Time { return m.pod.CreationTimestamp.Add(w.maxAge) }

// spent reports whether no run can ever take the sandbox. A tool server that was started again has a new process, and may have been used before: it
// is not worth a proof.
func (m *member) spent() bool {
	return m.state.Phase == sandbox.Ended || m.state.Phase == sandbox.Restarting || m.cordoned || m.used ||
		slices.ContainsFunc(m.pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 })
}

// endsAtOnce reports whether the tool server of a sandbox ended before the sandbox could be proved. It would be made again and again.
func (m *member) endsAtOnce() bool { return m.spent() && !m.cordoned && !m.used && !m.once }

// fails returns why a sandbox has taken too long, or when it will have.
func (m *member) fails(w wish, now time.Time) (*failure, time.Time) {
	since, limit, f := sandbox.Since(m.pod), w.startTimeout, failure{m.state.Reason, m.state.Message}
	switch {
	case m.taken:
		return nil, time.Time{}
	case m.state.Phase == sandbox.Starting && m.state.Reason == v1alpha1.ReasonUnschedulable:
		limit = min(limit, unscheduledFor)
	case m.state.Phase == sandbox.Starting:
	case m.state.Phase == sandbox.Running && !m.proved && m.failing:
		// After a change of the closing policy, or in a new leader, the proof begins long after the sandbox. A sandbox that only waits for its next try
		// has done nothing wrong.
		since, limit = now.Add(-m.trying), w.proveTimeout
		f = failure{v1alpha1.ReasonIsolationUnverified, "Pod " + m.pod.Name + " runs, and its isolation could not be proved in time."}
	default:
		return nil, time.Time{}
	}
	if due := since.Add(limit); now.Before(due) {
		return nil, due
	}
	return &f, time.Time{}
}

// verdict returns the status of the condition Ready of a pool.
func verdict(pool *v1alpha1.SandboxPool, p plan, f *failure) (metav1.ConditionStatus, failure) {
	switch {
	case f != nil:
		return metav1.ConditionFalse, *f
	case p.ready < int(replicasOf(pool)):
		return metav1.ConditionFalse, failure{v1alpha1.ReasonPoolFilling, "Sandboxes start, or are replaced."}
	}
	return metav1.ConditionTrue, failure{v1alpha1.ReasonPoolFull, "Every sandbox is ready for a run."}
}
