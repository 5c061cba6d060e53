// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// Timekeeper tells the time that deadlines go by.
type Timekeeper interface {
	// Now is the time by the API server's clock.
	Now() time.Time
	// Observed is what is known of the time in which a manager led.
	Observed() runpolicy.Observed
}

// unobservedPause is how soon a deadline is looked at again while it is not known how much time has passed for it.
const unobservedPause = 2 * time.Second

func (e *Engine) apiNow() time.Time {
	if e.Time == nil {
		return e.Now()
	}
	return e.Time.Now()
}

func (e *Engine) observed() runpolicy.Observed {
	if e.Time == nil {
		return runpolicy.Observed{}
	}
	return e.Time.Observed()
}

// until is how long it takes until a deadline has passed, 0 if it has.
func (e *Engine) until(deadline time.Time) time.Duration {
	now := e.apiNow()
	counts := e.observed().Now(now)
	wait := max(0, deadline.Sub(counts))
	if counts.Before(now) {
		return min(wait, unobservedPause)
	}
	return wait
}
