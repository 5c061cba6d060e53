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

// until is how soon to look at a deadline again, 0 if it has passed.
func (e *Engine) until(deadline time.Time) time.Duration {
	return e.observed().Wait(deadline, e.apiNow())
}
