// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

const (
	// lookAfterSuccess is how long the sandbox of a run that succeeded is retained for the last look at it: the files that it leaves behind are its
	// purpose. lookOtherwise is for any other end.
	lookAfterSuccess = 5 * time.Minute
	lookOtherwise    = 45 * time.Second
)

// LookTime returns how long the end of a run waits for the last look at its sandbox.
func LookTime(succeeded bool) time.Duration {
	if succeeded {
		return lookAfterSuccess
	}
	return lookOtherwise
}

// LookUntil returns until when the end of the run waits for the files that it leaves behind, zero if it need not wait. The end itself is decided,
// and nothing changes it.
func LookUntil(o Observation, e *End, now time.Time) time.Time {
	if o.Progress.LastStep == "" || o.Progress.Closed {
		return time.Time{}
	}
	if !HasModel(o.Run) && (e.Phase == v1alpha1.PhaseCompleted || o.Progress.Running == nil) {
		// Oneshot and Install runs leave nothing behind except their result.
		return time.Time{}
	}
	since := now
	if ending := o.Run.Status.Ending; ending != nil {
		since = ending.DecisionTime.Time
	}
	if until := o.Observed.Extend(since, since.Add(LookTime(e.Phase == v1alpha1.PhaseCompleted))); !o.hasCome(until, now) {
		return until
	}
	return time.Time{}
}

// EndsUnseen reports whether a run ends without the last look at its sandbox. A run that is held gets no look before its trial, and to wait for
// that would take longer than a look may. A run that succeeded waits for its trial, because the files that it leaves behind are its purpose.
func EndsUnseen(st *v1alpha1.MotorRunStatus, e *End) bool {
	return IsSetAside(st) || AwaitsTrial(st) && e.Phase != v1alpha1.PhaseCompleted
}

// EndingOf returns the record of an end in the status until the end is complete.
func EndingOf(o Observation, e *End, now time.Time) *v1alpha1.RunEnding {
	if o.Run.Status.Ending != nil {
		return o.Run.Status.Ending
	}
	ending := &v1alpha1.RunEnding{DecisionTime: metav1.NewTime(now), Reason: e.Reason}
	if o.Progress.Final == nil && o.Progress.Failure == nil {
		// Nothing else remembers it.
		ending.Message, ending.Failure = fit.CutEncoded(e.Message, fit.MaxFailureText), e.Failure
	}
	return ending
}

// EndsWell reports whether a run is ending, and with success. nil is the ending of one that is not.
func EndsWell(ending *v1alpha1.RunEnding) bool {
	return ending != nil && ending.Reason == v1alpha1.ReasonCompleted
}

// decidedBefore returns the end that was decided in an earlier pass and that no step records, nil if there is none.
func decidedBefore(o Observation) *End {
	ending := o.Run.Status.Ending
	switch {
	case ending == nil:
		return nil
	case ending.Failure != nil:
		e := failed(ending.Failure)
		e.Message = ending.Message
		return e
	case ending.Reason == v1alpha1.ReasonCancelled:
		return cancelledEnd(o.Run)
	case EndsWell(ending):
		return acceptedEnd(o)
	}
	return nil
}
