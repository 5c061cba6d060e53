// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// due returns when a reminder of an ask is due, and whether it gets one. One that was due when the ask began would come with it.
func (r Run) due(p *v1alpha1.PendingInput) (at time.Time, ok bool) {
	if r.Remind <= 0 || p.Answered || p.ExpirationTime.IsZero() {
		return time.Time{}, false
	}
	at = p.ExpirationTime.Add(-r.Remind)
	return at, at.After(p.AskTime.Time)
}

// untold returns when a reminder is due that the receiver is still to be told. A deadline that is over needs none.
func (r Run) untold(p *v1alpha1.PendingInput, c *Cursor) (at time.Time, ok bool) {
	at, ok = r.due(p)
	if !ok || slices.Contains(c.Reminded, p.ID) || c.Once && c.isOld(at) || !r.Now.Before(p.ExpirationTime.Time) {
		return time.Time{}, false
	}
	return at, true
}

// reminder returns the signal about an ask that is still open a while before its deadline, nil if there is none.
func (r Run) reminder(c Cursor) (*Signal, Cursor) {
	for i := range r.Status.PendingInputs {
		p := &r.Status.PendingInputs[i]
		if at, ok := r.untold(p, &c); ok && !r.Now.Before(at) {
			d := askOf(p)
			d.Reminder = true
			return r.signal(v1alpha1.SignalRunAwaitingInput, at, d, p.ID, "reminder"), c.withReminder(p.ID, r.Status.PendingInputs)
		}
	}
	return nil, c
}

// Wake returns when the next reminder is due about a run of which nothing is left to tell now, the zero time for never.
func (r Run) Wake(c Cursor) time.Time {
	var first time.Time
	if c.Ended {
		return first
	}
	for i := range r.Status.PendingInputs {
		if at, ok := r.untold(&r.Status.PendingInputs[i], &c); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
