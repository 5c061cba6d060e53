// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Gap is a time in which no manager led, so that nothing could be done for any run.
type Gap struct{ From, To time.Time }

// Observed is what is known of the time in which a manager led. A deadline is moved by the gaps in the time that it bounds. The zero
// Observed knows of no gap, and of all time that there was none.
type Observed struct {
	// Until is up to when Gaps are complete, zero for always. No deadline after it has passed: a gap may be found that moves it.
	Until time.Time
	// Gaps are ordered and do not overlap.
	Gaps []Gap
}

// Now is the instant to decide by: now, or Until if that is earlier.
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

// LookAfter is how soon a run is looked at again while no heartbeat was seen for so long. It grows, so that a heartbeat that cannot be
// written does not keep every run busy.
func LookAfter(silence time.Duration) time.Duration {
	return min(max(silence/10, minSilentPause), maxSilentPause)
}

// Wait is how soon to look at a deadline again, 0 if it has passed. A deadline that lies behind and has not passed for want of a heartbeat
// is looked at as LookAfter says: no heartbeat wakes a run.
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

// Shifted is an instant without the gaps since another one: what has lasted since then has lasted for so long at that instant.
func (o Observed) Shifted(from, now time.Time) time.Time {
	now = o.Now(now)
	return now.Add(-o.Lost(from, now))
}

// Lost is how much of the time between two instants was in gaps.
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
	expires := o.Extend(q.AskedAt.Time, q.ExpiresAt.Time)
	if expires.Equal(q.ExpiresAt.Time) {
		return
	}
	q.ExpiresAt = metav1.NewTime(expires)
	if q.Kind == v1alpha1.InputApproval {
		// The text names the instant.
		q.Question = approvalText(run, q)
	}
}

// CountGaps adds to the pauses of the run the gaps that it lived through and that were not counted yet. What a pause, a question or
// an outage of the model that has not ended takes of a gap is counted with that.
func CountGaps(run *v1alpha1.MotorRun, p Progress, o Observed) {
	st := &run.Status.Paused
	from := run.CreationTimestamp.Time
	if at := st.ObservedUntil; at != nil && at.After(from) {
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
		st.ObservedUntil = new(metav1.NewTime(g.To))
	}
	st.Seconds += int64((lost + time.Second - 1) / time.Second)
}

// openWaits are since when the run waits for something whose time is counted when it ends.
func openWaits(st *v1alpha1.PauseStatus, p Progress) []time.Time {
	var waits []time.Time
	if st.Since != nil {
		waits = append(waits, st.Since.Time)
	}
	if p.Pending != nil {
		waits = append(waits, p.Pending.AskedAt.Time)
	}
	if p.Outage != nil {
		waits = append(waits, p.Outage.Since)
	}
	return waits
}
