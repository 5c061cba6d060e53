// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Gap is a time in which no manager led, so that nothing could be done for any run.
type Gap struct{ From, To time.Time }

// Observed is the known part of the time in which a manager led. A deadline is moved by the gaps in the time that it bounds. The zero Observed has
// no gap, and no time at which its knowledge ends.
type Observed struct {
	// Until is up to when Gaps are complete, zero for always. No deadline after it has passed: a gap may be found that moves it.
	Until time.Time
	// Gaps are ordered and do not overlap.
	Gaps []Gap
}

// Now returns the instant to decide by: now, or Until if that is earlier.
func (o Observed) Now(now time.Time) time.Time {
	if !o.Until.IsZero() && o.Until.Before(now) {
		return o.Until
	}
	return now
}

// minSilentPause and maxSilentPause bound LookAfter.
const (
	minSilentPause = time.Second
	maxSilentPause = 10 * time.Second
)

// LookAfter returns how soon a run is checked again after a silence of that length without a heartbeat. It grows, so that a heartbeat that cannot
// be written does not keep every run busy.
func LookAfter(silence time.Duration) time.Duration {
	return min(max(silence/10, minSilentPause), maxSilentPause)
}

// Wait returns how soon to check a deadline again, 0 if it has passed. A deadline that lies behind and has not passed for want of a heartbeat is
// checked after LookAfter: no heartbeat wakes a run.
func (o Observed) Wait(deadline, now time.Time) time.Duration {
	counts := o.Now(now)
	switch {
	case !counts.Before(deadline):
		return 0
	case now.Before(deadline):
		// It never passes sooner than by the clock.
		return deadline.Sub(now)
	}
	return LookAfter(now.Sub(counts))
}

// Shifted returns an instant without the gaps since from: a state that began at from has lasted just as long at that instant.
func (o Observed) Shifted(from, now time.Time) time.Time {
	now = o.Now(now)
	return now.Add(-o.Lost(from, now))
}

// Lost returns how much of the time between two instants was in gaps.
func (o Observed) Lost(from, to time.Time) time.Duration {
	var sum time.Duration
	for _, g := range o.Gaps {
		sum += g.within(from, to)
	}
	return sum
}

// Extend moves a deadline, of a time that began at from, by the gaps in that time. Zero stays zero.
func (o Observed) Extend(from, deadline time.Time) time.Time {
	if deadline.IsZero() {
		return deadline
	}
	for _, g := range o.Gaps {
		// In their order: what one gap adds can have the next one in it.
		if g.From.Before(deadline) {
			deadline = deadline.Add(g.within(from, g.To))
		}
	}
	return deadline
}

func (g Gap) within(from, to time.Time) time.Duration {
	if g.From.After(from) {
		from = g.From
	}
	if g.To.Before(to) {
		to = g.To
	}
	return max(0, to.Sub(from))
}

// Extend moves the deadlines that the journal speaks of by the gaps in them.
func (p *Progress) Extend(run *v1alpha1.MotorRun, o Observed) {
	if p.Outage != nil {
		p.Outage.Observed = o
	}
	q := p.Pending
	if q == nil {
		return
	}
	expires := o.Extend(q.AskTime.Time, q.ExpirationTime.Time)
	if expires.Equal(q.ExpirationTime.Time) {
		return
	}
	q.ExpirationTime = metav1.NewTime(expires)
	if q.Kind == v1alpha1.InputApproval {
		// The text names the instant.
		q.Question = approvalText(run, q)
	}
}

// CountGaps adds to the pauses of the run the gaps that it lived through and that were not counted yet. The part of a gap within an open pause,
// question or outage of the model is counted with that.
func CountGaps(run *v1alpha1.MotorRun, p Progress, o Observed) {
	st := &run.Status.Paused
	from := run.CreationTimestamp.Time
	if at := st.ObservedTime; at != nil && at.After(from) {
		from = at.Time
	}
	var lost time.Duration
	for _, g := range o.Gaps {
		if !g.To.After(from) {
			continue
		}
		to := g.To
		for _, wait := range openWaits(st, p) {
			if wait.Before(to) {
				to = wait
			}
		}
		lost += g.within(from, to)
		st.ObservedTime = new(metav1.NewTime(g.To))
	}
	st.DurationSeconds += int64((lost + time.Second - 1) / time.Second)
}

// openWaits returns the starts of the run's open waits, whose time is counted when they end.
func openWaits(st *v1alpha1.PauseStatus, p Progress) []time.Time {
	var waits []time.Time
	if st.StartTime != nil {
		waits = append(waits, st.StartTime.Time)
	}
	if p.Pending != nil {
		waits = append(waits, p.Pending.AskTime.Time)
	}
	if p.Outage != nil {
		waits = append(waits, p.Outage.Since)
	}
	return waits
}
