// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// ManyMissed is how many missed starts are told: CronJob warns of more than these.
	ManyMissed = 100
	// punctual is how late a start may be without being one that was missed. A leader that takes over is later than no time at all.
	punctual = time.Minute
)

// Facts are what a decision needs to know of a schedule.
type Facts struct {
	Plan *Plan
	// Created is when the schedule was created: no earlier start was missed.
	Created time.Time
	// Last is the last start that took place or is settled in another way, the zero time if there was none.
	Last time.Time
	// Deadline is how late a run may begin, 0 for any time.
	Deadline  time.Duration
	CatchUp   v1alpha1.CatchUpPolicy
	Policy    v1alpha1.ConcurrencyPolicy
	Suspended bool
	// Active is how many runs of the schedule have not ended, but for that of the start which is due.
	Active int
}

// Decision is what is done now, and when the next decision is due.
type Decision struct {
	// Start is the start that takes place now, the zero time if none does.
	Start time.Time
	// Replace ends the runs that have not ended before that.
	Replace bool
	// Skipped is a start that is due and does not take place, and why. TooLate settles it.
	Skipped time.Time
	Reason  v1alpha1.SkipReason
	// Missed is how many starts before Start did not take place, ManyMissed + 1 for more than ManyMissed.
	Missed int
	// Next is the next start, the zero time if there is none.
	Next time.Time
	// ClockWentBack is true if the last start is later than now.
	ClockWentBack bool
}

// Decide decides as the controller of CronJob does:
//
//	suspended, or the last start is later than now ──► nothing, until that is over
//	no start since the last one ──► nothing, until the next one
//	the latest of them is later than the deadline permits ──► TooLate
//	runs are active, and the policy is Forbid ──► StillActive: the end of the run decides again
//	else ──► the latest one takes place; the ones before are missed
//
// Only the latest start is made up for, however many were missed.
func Decide(f Facts, now time.Time) Decision {
	from := f.Last
	if from.IsZero() {
		from = f.Created
	}
	if from.After(now) {
		// The times until then took place already, or were before the schedule.
		return Decision{Next: f.Plan.Next(from), ClockWentBack: f.Last.After(now.Add(punctual))}
	}
	d := Decision{Next: f.Plan.Next(now)}
	if f.Suspended {
		return d
	}
	due := f.Plan.Latest(from, now)
	if f.Plan.every > 0 {
		// Its times count from the last start.
		d.Next = f.Plan.Next(latest(from, due))
	}
	switch {
	case due.IsZero():
		return d
	case now.Sub(due) > f.late():
		d.Skipped, d.Reason = due, v1alpha1.SkippedTooLate
		return d
	case f.Policy == v1alpha1.ConcurrencyForbid && f.Active > 0:
		d.Skipped, d.Reason = due, v1alpha1.SkippedStillActive
		return d
	}
	d.Start, d.Replace = due, f.Policy == v1alpha1.ConcurrencyReplace && f.Active > 0
	d.Missed = f.Plan.Missed(from, due, ManyMissed+2) - 1
	return d
}

// late is how late a start may be.
func (f *Facts) late() time.Duration {
	late := f.Deadline
	if late <= 0 {
		late = 1<<63 - 1
	}
	if f.CatchUp == v1alpha1.CatchUpNone {
		late = min(late, punctual)
	}
	return late
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
