// SPDX-License-Identifier: Apache-2.0

// Package runpolicy holds the decisions about a run. They are pure: an observation and the time in, a decision out.
package runpolicy

import (
	"cmp"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Observation is everything that a run's course is decided by.
type Observation struct {
	Run      *v1alpha1.MotorRun
	Progress Progress
	// Sandbox is the state of the run's Pod, nil while there is none.
	Sandbox *sandbox.State
	// SandboxSince is when a node got the Pod, or when it was created if none has it, zero while there is none.
	SandboxSince time.Time
	// SandboxGone is true if the run's Pod does not exist any more.
	SandboxGone bool
	// SandboxStartTimeout bounds the time that the Pod takes until it runs.
	SandboxStartTimeout time.Duration
	// Observed are the times in which a manager led. No other time counts.
	Observed observed.Time
}

// End describes how a run ended.
type End struct {
	Phase v1alpha1.RunPhase
	// Reason of the conditions Succeeded and Finished.
	Reason string
	// Message is the model's closing text, or what happened and what to do about it.
	Message string
	// Value is the result as JSON where no step records it, "" otherwise.
	Value string
	// Failure is set if the run did not succeed and was not cancelled.
	Failure *v1alpha1.FailureSummary
}

// Decision is the result of Decide.
type Decision struct {
	// End is nil while the run goes on.
	End *End
	// Failure is set if the current attempt is over and the run is not, FinishedAt when it ended. Then either Next or Retry
	// is set.
	Failure    *v1alpha1.FailureSummary
	FinishedAt metav1.Time
	// Next is the attempt that begins now.
	Next *Next
	// Retry is the input that the run needs before it can try again.
	Retry *v1alpha1.PendingInput
	// WakeAt is when to decide again even if nothing changes, zero for never.
	WakeAt time.Time
}

// Decide returns how the run goes on. The policies are asked in order, and the first that decides wins:
//
//	            ┌──────────── next attempt ◄───────────┐
//	            ▼                                      │
//	Created ─► Running ─► AwaitingInput ─► Running ─► attempt over
//	   │          │             │                      │
//	   └──────────┴─────────────┴──────────────────────┴─► Completed | Failed | Cancelled   (for ever)
//
// The journal takes precedence: an end that was recorded did happen, whatever came after it. The run's own time and the time for an answer bound
// the run, so they end it; every other failure ends the attempt. Neither overrides an end that was accepted and not recorded yet.
func Decide(o Observation, now time.Time) Decision {
	if e := completed(o); e != nil {
		return Decision{End: e}
	}
	if e := decidedBefore(o); e != nil {
		return Decision{End: e}
	}
	if f := recordedFailure(o); f != nil {
		if e := acceptedEnd(o); e != nil && current(o).Failure == nil {
			// Nothing that the model did can have failed since.
			return Decision{End: e}
		}
		return afterFailure(o, f, now)
	}
	for _, policy := range []func(Observation, time.Time) *End{cancelled, unanswered, budgetStopped, timedOut} {
		if e := policy(o, now); e != nil {
			return Decision{End: cmp.Or(acceptedEnd(o), e)}
		}
	}
	for _, policy := range []func(Observation, time.Time) *v1alpha1.FailureSummary{sandboxLost, sandboxNotStarted} {
		if f := policy(o, now); f != nil {
			if e := acceptedEnd(o); e != nil {
				return Decision{End: e}
			}
			return afterFailure(o, f, now)
		}
	}
	return Decision{WakeAt: nextDeadline(o, now)}
}

func completed(o Observation) *End {
	if o.Progress.Final == nil {
		return nil
	}
	return &End{Phase: v1alpha1.PhaseCompleted, Reason: v1alpha1.ReasonCompleted, Message: *o.Progress.Final}
}

// recordedFailure returns how the attempt failed, if the status or the journal records a failure. The status takes precedence, because its content
// was decided.
func recordedFailure(o Observation) *v1alpha1.FailureSummary {
	if f := current(o).Failure; f != nil {
		return f
	}
	f := o.Progress.Failure
	if f == nil {
		return nil
	}
	s := o.failure(f.Category, f.Reason, f.Message, f.Retryable)
	s.Hint = fit.CutEncoded(f.Hint, fit.MaxFailureText)
	return s
}

func cancelled(o Observation, _ time.Time) *End {
	if !o.Run.Spec.Cancel {
		return nil
	}
	return cancelledEnd(o.Run)
}

func cancelledEnd(run *v1alpha1.MotorRun) *End {
	return &End{Phase: v1alpha1.PhaseCancelled, Reason: v1alpha1.ReasonCancelled, Message: "The run was cancelled by spec.cancel" + by(run.Spec.CancelledBy) + "."}
}

// by names the person who acted, if known.
func by(who string) string {
	if who == "" {
		return ""
	}
	return ", by " + fit.Title(who)
}

func unanswered(o Observation, now time.Time) *End {
	p := o.Progress.Pending
	if p == nil || expiresByItself(p) || Answered(o.Run, p) || !o.hasCome(p.ExpirationTime.Time, now) {
		return nil
	}
	message := fmt.Sprintf("The question %s was not answered within %d s (spec.limits.inputDeadlineSeconds): %s",
		p.ID, o.Run.Spec.Limits.InputDeadlineSeconds, fit.Title(p.Question))
	if p.Default != "" {
		message += fmt.Sprintf(" The model would choose %q, which is no answer by itself: put it into the task of another run, or give that a higher limit, or spec.questions.onTimeout UseDefault.", fit.Title(p.Default))
	}
	return failed(o.failure(v1alpha1.CategoryBudgetExhausted, v1alpha1.ReasonUserResponseTimeout, message, true))
}

// expiresByItself reports whether the run goes on when the time for the answer is over: the loop that waits for the answer ensures that.
func expiresByItself(p *v1alpha1.PendingInput) bool {
	return p.OnTimeout == v1alpha1.OnTimeoutDeny || p.OnTimeout == v1alpha1.OnTimeoutUseDefault
}

func timedOut(o Observation, now time.Time) *End {
	at := timeoutAt(o, now)
	if at.IsZero() || !o.hasCome(at, now) {
		return nil
	}
	message := fmt.Sprintf("The run was not done within %d s (spec.limits.activeDeadlineSeconds).", o.Run.Spec.Limits.ActiveDeadlineSeconds)
	switch {
	case o.Progress.Running != nil && o.Progress.Pending == nil:
		message += fmt.Sprintf(" It was at %s.", o.Progress.Running)
	case o.Run.Status.Message != "":
		message += " Last: " + fit.Cut(o.Run.Status.Message, 400)
	}
	return failed(o.failure(v1alpha1.CategoryBudgetExhausted, v1alpha1.ReasonTimeout, message, true))
}

// sandboxLost finds that the sandbox will never run again. A suspended run does not need it now: the loss is found out when the run goes on, and
// costs no attempt before.
func sandboxLost(o Observation, _ time.Time) *v1alpha1.FailureSummary {
	switch {
	case o.Run.Spec.Suspend:
		return nil
	case o.SandboxGone:
		return o.failure(v1alpha1.CategoryInfraFailure, v1alpha1.ReasonSandboxLost,
			"The sandbox Pod was deleted before the run ended, and its workspace with it.", true)
	case o.Sandbox != nil && o.Sandbox.Phase == sandbox.Ended:
		return o.failure(v1alpha1.CategoryInfraFailure, o.Sandbox.Reason, o.Sandbox.Message, true)
	}
	return nil
}

func sandboxNotStarted(o Observation, now time.Time) *v1alpha1.FailureSummary {
	at := startTimeoutAt(o, now)
	if at.IsZero() || !o.hasCome(at, now) {
		return nil
	}
	if o.Sandbox.Phase == sandbox.Restarting {
		return o.failure(v1alpha1.CategoryInfraFailure, v1alpha1.ReasonSandboxLost, fmt.Sprintf(
			"The sandbox did not come up again within %s. %s", o.SandboxStartTimeout, o.Sandbox.Message), true)
	}
	return o.failure(v1alpha1.CategoryInfraFailure, v1alpha1.ReasonSandboxStartTimeout, fmt.Sprintf(
		"The sandbox did not run within %s. %s", startTimeout(o), o.Sandbox.Message), true)
}

// hasCome reports whether it is known that a deadline has passed.
func (o Observation) hasCome(deadline, now time.Time) bool {
	return !o.Observed.Now(now).Before(deadline)
}

func (o Observation) failure(c v1alpha1.FailureCategory, reason, message string, retryable bool) *v1alpha1.FailureSummary {
	return &v1alpha1.FailureSummary{
		Category: c, Reason: fit.CutEncoded(reason, 128), Message: fit.CutEncoded(message, fit.MaxFailureText), LastStepName: o.Progress.LastStep,
		Retryable: retryable, SuggestedAction: SuggestedAction(c, reason, retryable),
	}
}

func failed(f *v1alpha1.FailureSummary) *End {
	return &End{Phase: v1alpha1.PhaseFailed, Reason: f.Reason, Message: f.Message, Failure: f}
}

// timeoutAt returns when the run's own time is over, zero while that cannot be.
func timeoutAt(o Observation, now time.Time) time.Time {
	if stopped(o.Run) {
		return time.Time{}
	}
	return deadline(o.Run, o.Progress, pausedFor(o.Run.Status.Paused, now))
}

// startTimeoutAt returns when the sandbox must run at the latest, zero if it runs or the run does not need it now.
func startTimeoutAt(o Observation, now time.Time) time.Time {
	since := awaitedSince(o, now)
	if since.IsZero() {
		return time.Time{}
	}
	return o.Observed.Extend(since, since.Add(startTimeout(o)))
}

// roomTimeout is how long a run waits for a node that can take its sandbox. Longer, and there will hardly be one.
const roomTimeout = 24 * time.Hour

// startTimeout returns how long the sandbox may take. Its time begins when a node has it: a cluster that is full is no failure of the run.
func startTimeout(o Observation) time.Duration {
	if o.Sandbox.Phase == sandbox.Starting && o.Sandbox.Reason == v1alpha1.ReasonUnschedulable {
		return max(roomTimeout, o.SandboxStartTimeout)
	}
	return o.SandboxStartTimeout
}

// awaitedSince returns the time since which the run waits for its sandbox, zero if it does not wait.
func awaitedSince(o Observation, now time.Time) time.Time {
	switch {
	case o.Run.Spec.Suspend:
		return time.Time{}
	case o.Sandbox == nil:
		return time.Time{}
	case o.Sandbox.Phase == sandbox.Starting:
		return o.SandboxSince
	case o.Sandbox.Phase == sandbox.Restarting:
		return downSince(o, now)
	}
	return time.Time{}
}

// downSince returns when the tool server that is being restarted ended. If its node did not record that, it is when the status first showed that
// the sandbox is down.
func downSince(o Observation, now time.Time) time.Time {
	if !o.Sandbox.FinishedAt.IsZero() {
		return o.Sandbox.FinishedAt
	}
	c := apimeta.FindStatusCondition(o.Run.Status.Conditions, v1alpha1.ConditionSandboxReady)
	if c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonSandboxRestarting {
		return c.LastTransitionTime.Time
	}
	return now
}

// nextDeadline returns the earliest instant at which a policy could decide without any other change.
func nextDeadline(o Observation, now time.Time) time.Time {
	candidates := []time.Time{timeoutAt(o, now), startTimeoutAt(o, now)}
	if p := o.Progress.Pending; p != nil && !expiresByItself(p) && !Answered(o.Run, p) {
		candidates = append(candidates, p.ExpirationTime.Time)
	}
	var next time.Time
	for _, t := range candidates {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}
