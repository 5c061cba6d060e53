// SPDX-License-Identifier: Apache-2.0

package runenv

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

// Clock has the two times.
type Clock struct {
	// Now is the process's clock, by which Leases and pauses go.
	Now func() time.Time
	// Time is the clock that everything in the API goes by. Nil: Now, and all time counts.
	Time Timekeeper
}

// APINow returns the time by the API server's clock.
func (c Clock) APINow() time.Time {
	if c.Time == nil {
		return c.Now()
	}
	return c.Time.Now()
}

// Observed returns what is known of the time in which a manager led.
func (c Clock) Observed() runpolicy.Observed {
	if c.Time == nil {
		return runpolicy.Observed{}
	}
	return c.Time.Observed()
}

// Until returns how soon to look at a deadline again, 0 if it has passed.
func (c Clock) Until(deadline time.Time) time.Duration {
	return c.Observed().Wait(deadline, c.APINow())
}
