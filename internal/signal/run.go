// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// reasonDeleted is the reason of the end of a run that was deleted before it ended. No status has it.
const reasonDeleted = "Deleted"

// Run is what is known of a run.
type Run struct {
	*v1alpha1.MotorRun
	// Step is its newest step, nil if there is none after the cursor's.
	Step *v1alpha1.MotorStep
	// Deleted is true if the run does not exist any more, and the rest is what it was last.
	Deleted bool
	// Remind is how long before its deadline an ask that is still open is told again; 0 for never.
	Remind time.Duration
	// Now is the time by which reminders are due.
	Now time.Time
}

// Next returns the next signal about a run, and the cursor of a receiver that was told it. wants reports which events the receiver is told; the
// cursor passes over the others. The signal is nil if there is nothing left to tell.
//
//	started ──► progress, awaitinginput, progress … ──► completed, failed or cancelled
//
// Only the newest step is told, and only asks that are open: a receiver that was away is not asked what others have answered. The end of a run
// makes its steps and asks old.
func (r Run) Next(c Cursor, wants func(v1alpha1.SignalEvent) bool) (*Signal, Cursor) {
	for {
		s, next := r.next(c)
		if s == nil || wants(s.Event) {
			return s, next
		}
		c = next
	}
}

func (r Run) next(c Cursor) (*Signal, Cursor) {
	if c.Ended {
		return nil, c
	}
	accepted := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAccepted)
	if !c.Started && accepted != nil && accepted.Status == metav1.ConditionTrue {
		c.Started = true
		if at := accepted.LastTransitionTime.Time; !c.isOld(at) {
			return r.signal(v1alpha1.SignalRunStarted, at, &Result{Status: "started"}), c
		}
	}
	if s, next, over := r.end(c); over {
		return s, next
	}
	if s := r.Step; s != nil && Of(s).After(c.Step) {
		c.Step = Of(s)
		if at := s.CreationTimestamp.Time; !c.isOld(at) {
			return r.signal(v1alpha1.SignalRunProgress, at, progressOf(s), fmt.Sprintf("a%d-s%d", s.Spec.Attempt, s.Spec.Index)), c
		}
	}
	for i := range r.Status.PendingInputs {
		p := &r.Status.PendingInputs[i]
		if !p.Answered && !slices.Contains(c.Asks, p.ID) && (!c.Once || !c.isOld(p.AskTime.Time)) {
			next := c.withAsk(p.ID, r.Status.PendingInputs)
			if at, ok := r.due(p); ok && !r.Now.Before(at) {
				// It is told late, and a reminder right after it would tell nothing.
				next = next.withReminder(p.ID, r.Status.PendingInputs)
			}
			return r.signal(v1alpha1.SignalRunAwaitingInput, p.AskTime.Time, askOf(p), p.ID), next
		}
	}
	return r.reminder(c)
}

// end returns the signal of the end of a run that is over, nil if that was told before the cursor's beginning.
func (r Run) end(c Cursor) (s *Signal, next Cursor, over bool) {
	at, finished := EndOf(r.MotorRun)
	if !finished && !r.Deleted {
		return nil, c, false
	}
	c = Cursor{From: c.From, Started: true, Ended: true}
	if !finished {
		return r.signal(v1alpha1.SignalRunCancelled, r.lastSeen(), &Result{
			Status: "cancelled", Reason: reasonDeleted, Error: &Failure{Message: "The run was deleted before it ended."},
		}), c, true
	}
	if c.isOld(at) {
		return nil, c, true
	}
	event, data := r.outcome()
	return r.signal(event, at, data), c, true
}

// lastSeen is the best that is known of when a run was deleted.
func (r Run) lastSeen() time.Time {
	if r.DeletionTimestamp != nil {
		return r.DeletionTimestamp.Time
	}
	return r.CreationTimestamp.Time
}

// Kept returns what the last signals about a run follow from that was deleted. Without whole it has at most a few hundred bytes of texts: the result
// has its stats and no summary and no value, and a failure its reason.
func Kept(run *v1alpha1.MotorRun, whole bool) *v1alpha1.MotorRun {
	k := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{
		Name: run.Name, Namespace: run.Namespace, UID: run.UID, CreationTimestamp: run.CreationTimestamp, DeletionTimestamp: run.DeletionTimestamp,
	}}
	for i := range run.Status.Conditions {
		switch c := run.Status.Conditions[i]; c.Type {
		case v1alpha1.ConditionAccepted, v1alpha1.ConditionFinished, v1alpha1.ConditionSucceeded:
			c.Message = ""
			k.Status.Conditions = append(k.Status.Conditions, c)
		}
	}
	k.Status.CompletionTime = run.Status.CompletionTime
	k.Status.Message = text.CutBytes(run.Status.Message, maxStatement)
	if r := run.Status.Result; r != nil {
		k.Status.Result = &v1alpha1.RunResult{OK: r.OK, Stats: r.Stats}
		if whole {
			k.Status.Result.Summary, k.Status.Result.Value, k.Status.Result.Skills = r.Summary, r.Value, r.Skills
		}
	}
	if !whole {
		return k
	}
	k.Status.Message = run.Status.Message
	if a := run.Status.LatestAttempt(); a != nil {
		k.Status.Attempts = []v1alpha1.AttemptStatus{{Index: a.Index, Failure: a.Failure}}
	}
	return k
}

// EndOf returns when a run ended, and whether it has.
func EndOf(run *v1alpha1.MotorRun) (time.Time, bool) {
	f := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFinished)
	if f == nil || f.Status != metav1.ConditionTrue {
		return time.Time{}, false
	}
	if t := run.Status.CompletionTime; t != nil {
		return t.Time, true
	}
	return f.LastTransitionTime.Time, true
}

// outcome returns the event of a finished run, and its data.
func (r Run) outcome() (v1alpha1.SignalEvent, *Result) {
	succeeded := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionSucceeded)
	d := &Result{Task: taskOf(r.Status.Result)}
	if succeeded != nil {
		d.Reason = succeeded.Reason
	}
	switch {
	case succeeded != nil && succeeded.Status == metav1.ConditionTrue:
		d.Status = "completed"
		return v1alpha1.SignalRunCompleted, d
	case d.Reason == v1alpha1.ReasonCancelled:
		d.Status = "cancelled"
		return v1alpha1.SignalRunCancelled, d
	}
	d.Status, d.Error = "failed", failureOf(r.MotorRun)
	return v1alpha1.SignalRunFailed, d
}

func (r Run) signal(e v1alpha1.SignalEvent, at time.Time, d *Result, what ...string) *Signal {
	d.Kind, d.RunID, d.Namespace, d.UID = "motor_result", r.Name, r.Namespace, string(r.UID)
	return &Signal{
		Event: e, ID: id(d.UID, e, what...), Source: source(r.Namespace, "motorruns"), Subject: r.Name, Time: at, Data: d,
	}
}
