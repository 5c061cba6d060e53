// SPDX-License-Identifier: Apache-2.0

// Package observed has the time in which a manager led: no other time counts for a deadline.
package observed

import (
	"time"
)

// Gap is a time in which no manager led, so that nothing could be done for any run.
type Gap struct{ From, To time.Time }

// Time is the known part of the time in which a manager led. A deadline is moved by the gaps in the time that it bounds. The zero Observed has
// no gap, and no time at which its knowledge ends.
type Time struct {
	// Until is up to when Gaps are complete, zero for always. No deadline after it has passed: a gap may be found that moves it.
	Until time.Time
	// Gaps are ordered and do not overlap.
	Gaps []Gap
}

// Now returns the instant to decide by: now, or Until if that is earlier.
func (o Time) Now(now time.Time) time.Time {
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
func (o Time) Wait(deadline, now time.Time) time.Duration {
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
func (o Time) Shifted(from, now time.Time) time.Time {
	now = o.Now(now)
	return now.Add(-o.Lost(from, now))
}

// Lost returns how much of the time between two instants was in gaps.
func (o Time) Lost(from, to time.Time) time.Duration {
	var sum time.Duration
	for _, g := range o.Gaps {
		sum += g.Within(from, to)
	}
	return sum
}

// Extend moves a deadline, of a time that began at from, by the gaps in that time. Zero stays zero.
func (o Time) Extend(from, deadline time.Time) time.Time {
	if deadline.IsZero() {
		return deadline
	}
	for _, g := range o.Gaps {
		// In their order: what one gap adds can have the next one in it.
		if g.From.Before(deadline) {
			deadline = deadline.Add(g.Within(from, g.To))
		}
	}
	return deadline
}

// Within returns how much of the time between two instants is in the gap.
func (g Gap) Within(from, to time.Time) time.Duration {
	if g.From.After(from) {
		from = g.From
	}
	if g.To.Before(to) {
		to = g.To
	}
	return max(0, to.Sub(from))
}
