// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The worker that carries a run on parses the run's content. Each parser is bounded. But a parser may have a defect that ends the process, with the
// loops of all other runs, and again the process that takes the run over. It is not known which of the runs was the cause:
//
//	carried on ──worker lost──► again ──worker lost──► suspect ──pause, its turn──► alone on a worker ──worker lost, twice──► set aside
//	    ▲                         │                                                      │                                      │
//	    │◄── no loss for a while ─┘                       ◄── a step, or time, without ──┘              suspended by a person ──┘
//
// The decisions are the leader's. They follow from the Leases of workers, and are written with the placement of the run. A suspect that waits for
// its turn, and a run that is set aside, are held: they have a worker, which looks after the sandbox and begins no loop.

const (
	// lossWindow is the time after which two losses count as unrelated.
	lossWindow = 10 * time.Minute
	// suspectAfter is the number of losses in succession that make a suspect.
	suspectAfter = 2
	// trialsAllowed bounds the trials in succession that end with a loss. A worker can end for another reason in the seconds of one.
	trialsAllowed = 2
	// trialPause is the first pause before a suspect is carried on alone. It doubles with each further loss, up to maxTrialPause.
	trialPause, maxTrialPause = 10 * time.Second, 5 * time.Minute
	// trialTime bounds the time for which a suspect is carried on alone. It doubles with each further trial, up to lossWindow. The first trial is over
	// with the first step: most suspects did nothing.
	trialTime = time.Minute
)

// CarriedOn reports whether the worker of a run has work for it, so that the run may be the cause of the worker's end.
func CarriedOn(run *v1alpha1.MotorRun) bool { return HasWork(run) && !Held(&run.Status) }

// HasWork reports whether a worker has something to do for a run, unless the run is held.
func HasWork(run *v1alpha1.MotorRun) bool {
	st := &run.Status
	return run.DeletionTimestamp.IsZero() && !run.Spec.Suspend && apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSandboxReady) &&
		(st.Pending() == nil || Answered(run, st.Pending()))
}

// NoteLoss counts a worker that ended without releasing the run. A run that it carried on alone is set aside if that was not the first time.
func NoteLoss(st *v1alpha1.MotorRunStatus, now time.Time) {
	if st.Losses == nil {
		st.Losses = &v1alpha1.LossStatus{}
	}
	l := st.Losses
	switch {
	case IsAlone(st):
		l.TrialsLost++
		l.SetAside = l.TrialsLost >= trialsAllowed
	case now.Sub(l.LastLossTime.Time) > lossWindow:
		*l = v1alpha1.LossStatus{}
	}
	l.Count, l.LastLossTime = min(l.Count+1, 1<<10), metav1.NewTime(now)
	l.AloneEpoch, l.AloneStartTime = 0, nil
}

// IsSuspect reports whether the run must be carried on alone, or not at all.
func IsSuspect(st *v1alpha1.MotorRunStatus) bool {
	return st.Losses != nil && st.Losses.Count >= suspectAfter
}

// AwaitsTrial reports whether the run waits for its turn to be carried on alone. Its time stands still.
func AwaitsTrial(st *v1alpha1.MotorRunStatus) bool {
	return IsSuspect(st) && !IsSetAside(st) && !IsAlone(st)
}

// Held reports whether no loop of the run may begin: its worker parses nothing of it.
func Held(st *v1alpha1.MotorRunStatus) bool { return IsSetAside(st) || AwaitsTrial(st) }

// IsSetAside reports whether the run is set aside until a person resumes it. Its time goes on.
func IsSetAside(st *v1alpha1.MotorRunStatus) bool { return st.Losses != nil && st.Losses.SetAside }

// IsAlone reports whether the worker of the run carries on nothing else.
func IsAlone(st *v1alpha1.MotorRunStatus) bool {
	return st.Losses != nil && st.Losses.AloneEpoch != 0 && st.Losses.AloneEpoch == st.Execution.Epoch
}

// TrialAt returns when a suspect may be carried on alone.
func TrialAt(st *v1alpha1.MotorRunStatus) time.Time {
	doublings := min(max(st.Losses.Count-suspectAfter, 0), 5)
	return st.Losses.LastLossTime.Add(min(trialPause<<doublings, maxTrialPause))
}

// BeginTrial records that the run is carried on alone from the present epoch on.
func BeginTrial(st *v1alpha1.MotorRunStatus, now time.Time) {
	l := st.Losses
	l.AloneEpoch, l.AloneStartTime, l.Trials = st.Execution.Epoch, new(metav1.NewTime(now)), min(l.Trials+1, 1<<10)
}

// TrialEnd returns when the run need not be carried on alone any more. results is the number of its calls that had a result when the trial began.
// While the model is unavailable, the first trial is over after the time of one try: there is hardly anything to parse.
func TrialEnd(run *v1alpha1.MotorRun, p Progress, results int32) time.Time {
	l := run.Status.Losses
	first := l.Trials <= 1
	switch {
	case l.AloneStartTime == nil, !HasWork(run), first && (p.Epoch >= run.Status.Execution.Epoch || p.ToolCalls > results):
		return time.Time{}
	case first && p.Outage != nil:
		return l.AloneStartTime.Add(trialPause)
	}
	return l.AloneStartTime.Add(min(trialTime<<min(max(l.Trials-1, 0), 4), lossWindow))
}

// EndTrial records that the worker of the run outlived its trial. The next loss makes it a suspect again: some defects take their time.
func EndTrial(st *v1alpha1.MotorRunStatus) {
	l := st.Losses
	l.AloneEpoch, l.AloneStartTime, l.TrialsLost, l.Count = 0, nil, 0, suspectAfter-1
}
