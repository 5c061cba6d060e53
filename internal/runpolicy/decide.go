// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// lastWord is how long a node has to say why its tool server ended. One that died meanwhile never does.
const lastWord = 30 * time.Second

// Observation is everything that the end of a run is decided by.
type Observation struct {
	Run      *v1alpha1.MotorRun
	Progress Progress
	// Sandbox is the state of the run's Pod, nil while there is none.
	Sandbox *sandbox.State
	// SandboxCreatedAt is when the Pod was created, zero while there is none.
	SandboxCreatedAt time.Time
	// SandboxGone says that the Pod which the run had does not exist any more.
	SandboxGone bool
	// SandboxStartTimeout is how long the Pod may take to run.
	SandboxStartTimeout time.Duration
}

// End says that a run is over.
type End struct {
	Phase v1alpha1.RunPhase
	// Reason of the conditions Succeeded and Finished.
	Reason string
	// Message is the model's closing text, or what happened and what to do about it.
	Message string
	// Failure is set if the run did not succeed and nobody cancelled it.
	Failure *v1alpha1.FailureSummary
}

// Decision is what Decide found.
type Decision struct {
	// End is nil while the run goes on.
	End *End
	// WakeAt is when to decide again even if nothing changes, zero for never.
	WakeAt time.Time
}

// Decide says whether the run is over. The policies are asked in order, and the first that speaks is right:
//
//	Created ─► Running ─► AwaitingInput ─► Running ─► …
//	   │          │             │
//	   └──────────┴─────────────┴─► Completed | Failed | Cancelled   (for ever)
//
// What the journal says comes first: an end that was recorded did happen, whatever came after it.
func Decide(o Observation, now time.Time) Decision {
	policies := []func(Observation, time.Time) *End{
		completed, failed, cancelled, unanswered, timedOut, sandboxLost, sandboxNotStarted,
	}
	for _, policy := range policies {
		if end := policy(o, now); end != nil {
			return Decision{End: end}
		}
	}
	return Decision{WakeAt: nextDeadline(o, now)}
}

func completed(o Observation, _ time.Time) *End {
	if o.Progress.Final == nil {
		return nil
	}
	return &End{Phase: v1alpha1.PhaseCompleted, Reason: v1alpha1.ReasonCompleted, Message: *o.Progress.Final}
}

func failed(o Observation, _ time.Time) *End {
	f := o.Progress.Failure
	if f == nil {
		return nil
	}
	return failure(f.Category, f.Reason, f.Message, f.Retryable)
}

func cancelled(o Observation, _ time.Time) *End {
	if !o.Run.Spec.Cancel {
		return nil
	}
	return &End{Phase: v1alpha1.PhaseCancelled, Reason: v1alpha1.ReasonCancelled, Message: "The run was cancelled by spec.cancel."}
}

func unanswered(o Observation, now time.Time) *End {
	p := o.Progress.Pending
	if p == nil || Answered(o.Run, p) || now.Before(p.ExpiresAt.Time) {
		return nil
	}
	return failure(v1alpha1.CategoryBudgetExhausted, v1alpha1.ReasonUserResponseTimeout, fmt.Sprintf(
		"Nobody answered the question %s within %d s (spec.limits.awaitingInputSeconds): %s",
		p.ID, o.Run.Spec.Limits.AwaitingInputSeconds, Title(p.Question)), true)
}

func timedOut(o Observation, now time.Time) *End {
	at := timeoutAt(o)
	if at.IsZero() || now.Before(at) {
		return nil
	}
	message := fmt.Sprintf("The run was not done within %d s (spec.limits.timeoutSeconds).", o.Run.Spec.Limits.TimeoutSeconds)
	if o.Run.Status.Message != "" {
		message += " Last: " + Cut(o.Run.Status.Message, 400)
	}
	return failure(v1alpha1.CategoryBudgetExhausted, v1alpha1.ReasonTimeout, message, true)
}

func sandboxLost(o Observation, now time.Time) *End {
	switch {
	case o.SandboxGone:
		return failure(v1alpha1.CategoryInfraFailure, v1alpha1.ReasonSandboxLost,
			"The sandbox Pod was deleted before the run ended, and its workspace with it. Create the run again.", true)
	case o.Sandbox != nil && o.Sandbox.Phase == sandbox.Ended:
		return failure(v1alpha1.CategoryInfraFailure, o.Sandbox.Reason, o.Sandbox.Message, true)
	case o.Sandbox != nil && o.Sandbox.Phase == sandbox.Ending && !now.Before(lastWordAt(o)):
		return failure(v1alpha1.CategoryInfraFailure, v1alpha1.ReasonSandboxLost, fmt.Sprintf(
			"%s Its node did not say why within %s. Look whether the node is well, and create the run again.", o.Sandbox.Message, lastWord), true)
	}
	return nil
}

func sandboxNotStarted(o Observation, now time.Time) *End {
	at := startTimeoutAt(o)
	if at.IsZero() || now.Before(at) {
		return nil
	}
	return failure(v1alpha1.CategoryInfraFailure, v1alpha1.ReasonSandboxStartTimeout, fmt.Sprintf(
		"The sandbox did not run within %s. %s", o.SandboxStartTimeout, o.Sandbox.Message), true)
}

func failure(c v1alpha1.FailureCategory, reason, message string, retryable bool) *End {
	return &End{Phase: v1alpha1.PhaseFailed, Reason: reason, Message: message, Failure: &v1alpha1.FailureSummary{
		Category: c, Reason: reason, Message: CutEncoded(message, 1024), Retryable: retryable,
	}}
}

// timeoutAt is when the run's own time is over. Its clock stands still while a person is asked. How long that took
// is known when the answer was used; until then the whole time for the answer is added, because a run must not
// time out between an answer and its use.
func timeoutAt(o Observation) time.Time {
	budget := time.Duration(o.Run.Spec.Limits.TimeoutSeconds) * time.Second
	at := o.Run.CreationTimestamp.Add(budget + o.Progress.Waited)
	if p := o.Progress.Pending; p != nil {
		at = at.Add(p.ExpiresAt.Sub(p.AskedAt.Time))
	}
	return at
}

func startTimeoutAt(o Observation) time.Time {
	if o.Sandbox == nil || o.Sandbox.Phase != sandbox.Starting {
		return time.Time{}
	}
	return o.SandboxCreatedAt.Add(o.SandboxStartTimeout)
}

// lastWordAt is when an end without a reason counts as one.
func lastWordAt(o Observation) time.Time {
	if o.Sandbox == nil || o.Sandbox.Phase != sandbox.Ending {
		return time.Time{}
	}
	return o.Sandbox.FinishedAt.Add(lastWord)
}

// nextDeadline is the earliest instant at which a policy could speak without anything else changing.
func nextDeadline(o Observation, now time.Time) time.Time {
	candidates := []time.Time{timeoutAt(o), startTimeoutAt(o), lastWordAt(o)}
	if p := o.Progress.Pending; p != nil && !Answered(o.Run, p) {
		candidates = append(candidates, p.ExpiresAt.Time)
	}
	var next time.Time
	for _, t := range candidates {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}
