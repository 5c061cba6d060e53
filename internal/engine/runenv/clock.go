// SPDX-License-Identifier: Apache-2.0

package runenv

import (
	"time"

	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

// Timekeeper returns the time that deadlines use.
type Timekeeper interface {
	// Now is the time by the API server's clock.
	Now() time.Time
	// Observed returns when a manager is known to have led.
	Observed() observed.Time
}

// Clock has the two times.
type Clock struct {
	// Now is the process's clock, which Leases and pauses use.
	Now func() time.Time
	// Time is the clock for all times in the API. If it is nil, Now is used, and all time counts.
	Time Timekeeper
}

// APINow returns the time by the API server's clock.
func (c Clock) APINow() time.Time {
	if c.Time == nil {
		return c.Now()
	}
	return c.Time.Now()
}

// Observed returns when a manager is known to have led.
func (c Clock) Observed() observed.Time {
	if c.Time == nil {
		return observed.Time{}
	}
	return c.Time.Observed()
}

// Until returns how soon to look at a deadline again, 0 if it has passed.
func (c Clock) Until(deadline time.Time) time.Duration {
	return c.Observed().Wait(deadline, c.APINow())
}
