// SPDX-License-Identifier: Apache-2.0

package controller

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

// unobservedPause is how soon a run is looked at again while it is not known how much time has passed for it.
const unobservedPause = time.Second

func (r *MotorRunReconciler) apiNow() time.Time {
	if r.Time == nil {
		return r.Now()
	}
	return r.Time.Now()
}

// countGaps gives the run the time back in which no manager led.
func (r *MotorRunReconciler) countGaps(s *scope) {
	if r.Time == nil {
		return
	}
	s.observed = r.Time.Observed()
	s.progress.Extend(s.run, s.observed)
	runpolicy.CountGaps(s.run, s.progress, s.observed)
	if s.observed.Now(s.now).Before(s.now) {
		// The heartbeat of the leader wakes no run, and a deadline may have passed already.
		s.wake(s.now.Add(unobservedPause))
	}
}
