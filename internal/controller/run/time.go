// SPDX-License-Identifier: Apache-2.0

package run

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

// Timekeeper provides the time for deadlines.
type Timekeeper interface {
	// Now is the time by the API server's clock.
	Now() time.Time
	// Observed returns the known part of the time in which a manager led.
	Observed() observed.Time
}

// gapCount is the time up to which the gaps of a run are in its status, and the seconds of pauses then: see countGaps.
type gapCount struct {
	until   time.Time
	seconds int64
}

func (r *Reconciler) apiNow() time.Time {
	if r.Time == nil {
		return r.Now()
	}
	return r.Time.Now()
}

// countGaps restores to the run the time in which no manager led.
func (r *Reconciler) countGaps(s *pass.Run) {
	if r.Time == nil {
		return
	}
	s.Observed = r.Time.Observed()
	s.Progress.Extend(s.Run, s.Observed)
	r.recallCounted(s)
	runpolicy.CountGaps(s.Run, s.Progress, s.Observed)
	if known := s.Observed.Now(s.Now); known.Before(s.Now) {
		// The heartbeat of the leader wakes no run, and a deadline may have passed already.
		s.Wake(s.Now.Add(observed.LookAfter(s.Now.Sub(known))))
	}
}

// wakeForDeadline requests a pass at the instant of a deadline. A deadline that lies behind and has not passed for want of a heartbeat requests
// none beside that of countGaps: the next pass would find the same, and request another at once.
func wakeForDeadline(s *pass.Run, at time.Time) {
	if at.After(s.Now) || !s.Observed.Now(s.Now).Before(s.Now) {
		s.Wake(at)
	}
}

// recallCounted restores the time up to which the gaps are counted, if they are counted and the status lacks it. An API server with older
// CustomResourceDefinitions drops the field and retains the seconds. Without the restored time each pass would count every gap again. Fewer seconds
// are those of a status that was read before they were written.
func (r *Reconciler) recallCounted(s *pass.Run) {
	if len(s.Observed.Gaps) == 0 {
		return
	}
	paused, known := &s.Run.Status.Paused, r.counts.Of(s.Run)
	says := time.Time{}
	if paused.ObservedTime != nil {
		says = paused.ObservedTime.Time
	}
	if known.until.After(says) && paused.DurationSeconds >= known.seconds {
		paused.ObservedTime = new(metav1.NewTime(known.until))
	}
}

// noteCounted remembers how far the written status of the run has counted the gaps.
func (r *Reconciler) noteCounted(run *v1alpha1.MotorRun, paused v1alpha1.PauseStatus) {
	if paused.ObservedTime == nil {
		return
	}
	known := r.counts.Of(run)
	known.until, known.seconds = paused.ObservedTime.Time, paused.DurationSeconds
}
