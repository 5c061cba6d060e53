// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
)

// flood holds back asks of which a receiver gets too many, until one message lists them. What it holds stays pending, so that a process that takes over
// tells it.
type flood struct {
	// recent are the instants of the last asks that were told or held, the oldest first: at most as many as have messages of their own.
	recent []time.Time
	// held are the subjects whose next ask waits for the digest, which comes at due.
	held map[subject]bool
	due  time.Time
}

// hold reports whether the next ask of a subject waits for a digest. deadline is that of the ask, the zero time for none.
func (f *flood) hold(s subject, d *v1alpha1.NotificationDigest, deadline, now time.Time) bool {
	window := time.Duration(d.WindowSeconds) * time.Second
	for len(f.recent) > 0 && now.Sub(f.recent[0]) >= window {
		f.recent = f.recent[1:]
	}
	if !f.held[s] {
		if len(f.recent) < int(d.Asks) {
			return false
		}
		if f.held == nil {
			f.held = map[subject]bool{}
		}
		f.held[s] = true
		f.count(d, now)
	}
	at := now.Add(window)
	if left := deadline.Sub(now); !deadline.IsZero() && left/2 < window {
		at = now.Add(max(left/2, 0))
	}
	if f.due.IsZero() || at.Before(f.due) {
		f.due = at
	}
	return true
}

// count notes that an ask was told or held.
func (f *flood) count(d *v1alpha1.NotificationDigest, now time.Time) {
	f.recent = append(f.recent, now)
	f.recent = f.recent[max(len(f.recent)-int(d.Asks), 0):]
}

// release notes that a subject does not wait any more.
func (f *flood) release(s subject) {
	delete(f.held, s)
	if len(f.held) == 0 {
		f.due = time.Time{}
	}
}

// deadlineOf returns until when there is time for an answer to an ask, the zero time for no end.
func deadlineOf(what *signal.Signal) time.Time {
	if d, ok := what.Data.(*signal.Result); ok && d.Input != nil && d.Input.ExpirationTime != nil {
		return *d.Input.ExpirationTime
	}
	return time.Time{}
}
