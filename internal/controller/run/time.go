// SPDX-License-Identifier: Apache-2.0

package run

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// Timekeeper tells the time that deadlines go by.
type Timekeeper interface {
	// Now is the time by the API server's clock.
	Now() time.Time
	// Observed is what is known of the time in which a manager led.
	Observed() runpolicy.Observed
}

// gapCount is up to when the gaps of a run are in its status, and with how many seconds of pauses: see countGaps.
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
		s.Wake(s.Now.Add(runpolicy.LookAfter(s.Now.Sub(known))))
	}
}

// wakeForDeadline asks for a pass at the instant of a deadline. One that lies behind and has not passed for want of a heartbeat asks for
// none beside that of countGaps: the next pass would find the same, and ask again at once.
func wakeForDeadline(s *pass.Run, at time.Time) {
	if at.After(s.Now) || !s.Observed.Now(s.Now).Before(s.Now) {
		s.Wake(at)
	}
}

// recallCounted restores up to when the gaps are counted where the status does not say it although they are: an API server with older
// CustomResourceDefinitions drops the field and keeps the seconds, and each pass would count every gap again. Fewer seconds are those of a
// status that was read before they were written.
func (r *Reconciler) recallCounted(s *pass.Run) {
	if len(s.Observed.Gaps) == 0 {
		return
	}
	paused, known := &s.Run.Status.Paused, r.counts.Of(s.Run)
	says := time.Time{}
	if paused.ObservedUntil != nil {
		says = paused.ObservedUntil.Time
	}
	if known.until.After(says) && paused.Seconds >= known.seconds {
		paused.ObservedUntil = new(metav1.NewTime(known.until))
	}
}

// noteCounted remembers what the status of the run says of gaps, once that is written.
func (r *Reconciler) noteCounted(run *v1alpha1.MotorRun, paused v1alpha1.PauseStatus) {
	if paused.ObservedUntil == nil {
		return
	}
	known := r.counts.Of(run)
	known.until, known.seconds = paused.ObservedUntil.Time, paused.Seconds
}
