// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/recovery"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const (
	// maxAttempts bounds the attempts of a run, both the operator's and those of people: the status accepts no more.
	maxAttempts = 10
	// maxOperatorAttempts bounds the attempts that the operator makes without a person.
	maxOperatorAttempts = 2
)

// reasonMaxTokens is the loop's reason for an attempt that ended because the run's tokens are used up.
const reasonMaxTokens = "MaxTokens"

// Next is an attempt that begins.
type Next struct {
	Index int32
	Cause v1alpha1.AttemptCause
	// RecoveryContext is the text for the model about the attempts before.
	RecoveryContext string
	// NewSandbox is true if the attempt needs another Pod than the one before.
	NewSandbox bool
}

// current returns the attempt that is being made, or waits for the next one.
func current(o Observation) v1alpha1.AttemptStatus {
	if a := o.Run.Status.LatestAttempt(); a != nil {
		return *a
	}
	return v1alpha1.AttemptStatus{Index: max(o.Progress.Attempt, 1)}
}

// CurrentAttempt returns the current attempt of the run, the zero attempt before there is one.
func CurrentAttempt(run *v1alpha1.MotorRun) v1alpha1.AttemptStatus {
	if a := run.Status.LatestAttempt(); a != nil {
		return *a
	}
	return v1alpha1.AttemptStatus{}
}

// afterFailure decides what follows an attempt that failed:
//
//	no further attempt possible ─► the run ends
//	cancelled                   ─► the run ends
//	a person decided Retry      ─► the next attempt
//	a person decided Stop       ─► the run ends
//	lost with its sandbox       ─► the next attempt, if no person has to decide and the operator has attempts left
//	otherwise                   ─► wait for a decision, until its time is over
func afterFailure(o Observation, f *v1alpha1.FailureSummary, now time.Time) Decision {
	cur := current(o)
	d := Decision{Failure: f, FinishedAt: metav1.NewTime(now.Truncate(time.Second))}
	if cur.CompletionTime != nil {
		d.FinishedAt = *cur.CompletionTime
	}
	retry, own := mayRetry(o, f), mayMakeOwn(o, f)
	if !retry && !own {
		return Decision{End: failedForGood(o, f)}
	}
	if e := cancelled(o, now); e != nil {
		return Decision{End: e}
	}
	switch r := RetryOf(o.Run, cur.Index); {
	case retry && r != nil && r.Decision == v1alpha1.DecisionStop:
		e := failedForGood(o, f)
		e.Message += " " + stoppedBy(r, "another attempt")
		return Decision{End: e}
	case retry && r != nil:
		d.Next = next(o, f, now, v1alpha1.CauseRetry, r.Guidance)
		return d
	case own:
		d.Next = next(o, f, now, v1alpha1.CauseInfrastructure, "")
		return d
	}
	window := o.Run.Spec.Limits.RetryDeadlineSeconds
	expires := o.Observed.Extend(d.FinishedAt.Time, d.FinishedAt.Add(time.Duration(window)*time.Second))
	if o.hasCome(expires, now) {
		e := failedForGood(o, f)
		e.Message += fmt.Sprintf(" No further attempt was asked for within %d s (spec.limits.retryDeadlineSeconds).", window)
		return Decision{End: e}
	}
	d.Retry, d.WakeAt = retryInput(o, f, d.FinishedAt, expires), expires
	return d
}

// failedForGood ends the run with its last attempt. If the sandbox was lost in the middle of a call, no person is asked about it any more, so the
// end states that its outcome is unknown.
func failedForGood(o Observation, f *v1alpha1.FailureSummary) *End {
	e := failed(f)
	if calls := callsInFlight(o); lostSandbox(f) && len(calls) > 0 {
		e.Message += " It is unknown whether these calls took effect: " + strings.Join(calls, "; ") + "."
	}
	return e
}

// callsInFlight names the calls that do more than read and have no result, or a result that does not show how far they came.
func callsInFlight(o Observation) []string {
	var calls []string
	for _, c := range o.Progress.Unknown {
		if c.IsOpen() {
			calls = append(calls, callText(c.Tool, c.Arguments))
		}
	}
	return calls
}

// mayRetry reports whether a person may ask for another attempt.
func mayRetry(o Observation, f *v1alpha1.FailureSummary) bool {
	worth := f.Retryable || f.SuggestedAction == v1alpha1.ActionRetryWithGuidance
	asked, all := countAttempts(o.Run)
	return worth && asked < maxAsked(o.Run) && all < maxAttempts
}

// mayMakeOwn reports whether the operator makes another attempt without a person. It decides that at once or never: once the run waits for a
// person, the decision is that person's.
func mayMakeOwn(o Observation, f *v1alpha1.FailureSummary) bool {
	asked, all := countAttempts(o.Run)
	return current(o).Failure == nil && lostSandbox(f) && all-asked < maxOperatorAttempts && all < maxAttempts && !heldBack(o)
}

// countAttempts counts the attempts that were asked for, the first one included, and all.
func countAttempts(run *v1alpha1.MotorRun) (asked, all int32) {
	for _, a := range run.Status.Attempts {
		if a.Cause != v1alpha1.CauseInfrastructure {
			asked++
		}
	}
	return max(asked, 1), max(int32(len(run.Status.Attempts)), 1)
}

// lostSandbox reports whether the attempt failed because its sandbox did.
func lostSandbox(f *v1alpha1.FailureSummary) bool {
	if f.Category != v1alpha1.CategoryInfraFailure {
		return false
	}
	switch f.Reason {
	case v1alpha1.ReasonSandboxLost, v1alpha1.ReasonSandboxEvicted, v1alpha1.ReasonSandboxCrashed, v1alpha1.ReasonSandboxOOMKilled,
		v1alpha1.ReasonSandboxStartTimeout, v1alpha1.ReasonSandboxOutdated, v1alpha1.ReasonTimeout:
		return true
	}
	return false
}

// heldBack reports whether a person has to decide about another attempt, because a call may have taken effect that another
// attempt would make again.
func heldBack(o Observation) bool {
	return onUnknown(o.Run) == v1alpha1.UnknownAskPerson && slices.ContainsFunc(o.Progress.Unknown, calls.Ref.IsOpen)
}

func onUnknown(run *v1alpha1.MotorRun) v1alpha1.UnknownPolicy {
	if run.Spec.Approval == nil || run.Spec.Approval.OnUnknown == "" {
		return v1alpha1.UnknownAskPerson
	}
	return run.Spec.Approval.OnUnknown
}

// retryPrefix is the beginning of the id of an input of kind Retry. The number of the attempt that failed follows.
const retryPrefix = "retry-"

// retryID returns the id under which a person decides whether another attempt follows the one that failed.
func retryID(attempt int32) string { return retryPrefix + strconv.Itoa(int(attempt)) }

// RetryOf returns the response that decides whether another attempt follows the one that failed, nil if there is none.
func RetryOf(run *v1alpha1.MotorRun, attempt int32) *v1alpha1.Response {
	id := retryID(attempt)
	for i := range run.Spec.Responses {
		if r := &run.Spec.Responses[i]; r.ID == id && fitsRetry(r) {
			return r
		}
	}
	return nil
}

// stoppedBy describes the decision against something.
func stoppedBy(r *v1alpha1.Response, against string) string {
	text := "A person decided against " + against
	if r.RespondedBy != "" {
		text = fit.Title(r.RespondedBy) + " decided against " + against
	}
	if r.Reason != "" {
		return text + ": " + fit.OneLine(r.Reason, fit.MaxFailureText)
	}
	return text + "."
}

func fitsRetry(r *v1alpha1.Response) bool {
	return r.Decision == v1alpha1.DecisionRetry || r.Decision == v1alpha1.DecisionStop
}

func next(o Observation, f *v1alpha1.FailureSummary, now time.Time, cause v1alpha1.AttemptCause, guidance string) *Next {
	n := &Next{Index: current(o).Index + 1, Cause: cause, NewSandbox: lostSandbox(f) || isUnusable(o, now)}
	p := o.Progress
	earlier := recovery.Earlier{
		Index: n.Index, NewSandbox: n.NewSandbox, Failure: f, Partial: p.Partial, Attempts: o.Run.Status.Attempts, Skill: o.Run.Status.Skill,
		Calls: p.Calls, Unknown: p.Unknown, Guidance: guidance,
	}
	if p.Running != nil {
		earlier.Unfinished = []string{p.Running.Tool}
	}
	n.RecoveryContext = recovery.Context(earlier)
	return n
}

// isUnusable reports whether the sandbox is lost although the attempt failed for another reason: it may have waited long.
func isUnusable(o Observation, now time.Time) bool {
	return o.SandboxGone || o.Sandbox != nil && o.Sandbox.Phase == sandbox.Ended || sandboxNotStarted(o, now) != nil
}

// retryInput returns the pending input that describes how to request another attempt.
func retryInput(o Observation, f *v1alpha1.FailureSummary, failedAt metav1.Time, expires time.Time) *v1alpha1.PendingInput {
	cur, run := current(o).Index, o.Run
	var b strings.Builder
	fmt.Fprintf(&b, "Attempt %d failed (%s): %s", cur, f.Reason, f.Message)
	if f.Hint != "" {
		fmt.Fprintf(&b, "\nA model's guess: %s", f.Hint)
	}
	if calls := callsInFlight(o); len(calls) > 0 {
		b.WriteString("\nIt is unknown whether these calls took effect:\n- " + strings.Join(calls, "\n- "))
		if lostSandbox(f) {
			b.WriteString("\nThey do more than read, and another attempt may make them again: that is why a person is asked.")
		}
	}
	how := fmt.Sprintf("\nTo try again, decide Retry before %s:\n"+
		`kubectl -n %s patch motorrun %s --type=json -p '[{"op":"add","path":"/spec/responses/-","value":{"id":"%s","decision":"Retry","guidance":"…"}}]'`+
		"\nOtherwise the run ends; the decision Stop ends it at once.", expires.UTC().Format(time.RFC3339), run.Namespace, run.Name, retryID(cur))
	return &v1alpha1.PendingInput{
		ID:             retryID(cur),
		Kind:           v1alpha1.InputRetry,
		Title:          fit.Title(fmt.Sprintf("Attempt %d failed: %s", cur, f.Reason)),
		Question:       fit.CutEncoded(b.String(), maxRetryQuestion-fit.EncodedSize(how)) + how,
		Options:        []string{string(v1alpha1.DecisionRetry), string(v1alpha1.DecisionStop)},
		StepName:       f.LastStepName,
		Attempt:        new(cur + 1),
		AskTime:        failedAt,
		ExpirationTime: metav1.NewTime(expires),
	}
}

// maxRetryQuestion bounds the question about a retry, in bytes.
const maxRetryQuestion = 4096

// SuggestedAction returns the action that fits a failure.
func SuggestedAction(c v1alpha1.FailureCategory, reason string, retryable bool) v1alpha1.SuggestedAction {
	switch {
	case reason == v1alpha1.ReasonDomainInvalid, reason == v1alpha1.ReasonCredentialHostNotAllowed, reason == v1alpha1.ReasonMCPServerNotAllowed,
		reason == v1alpha1.ReasonExecutionTimeout, reason == v1alpha1.ReasonExecutionError, reason == v1alpha1.ReasonExecutionBlocked:
		return v1alpha1.ActionStop
	case reason == v1alpha1.ReasonIsolationRefused, reason == v1alpha1.ReasonUserResponseTimeout,
		reason == v1alpha1.ReasonTimeout && c == v1alpha1.CategoryBudgetExhausted:
		// They end the run: a person must fix the network, answer in time, or create another run with more time.
		return v1alpha1.ActionAskUser
	case (reason == reasonMaxTokens || reason == v1alpha1.ReasonBudgetExhausted || reason == v1alpha1.ReasonBudgetStopped) && !retryable:
		// What the run may spend is used up, and no attempt adds any.
		return v1alpha1.ActionAskUser
	case c == v1alpha1.CategoryInvalidTask:
		// A file, a Secret or a ConfigMap is not as the run needs it.
		return v1alpha1.ActionAskUser
	case c == v1alpha1.CategoryModelFailure && !retryable:
		// The key, the name or the address of the model is permanently wrong, or the model rejects the request.
		return v1alpha1.ActionAskUser
	case c == v1alpha1.CategoryInfraFailure && !retryable:
		return v1alpha1.ActionStop
	}
	return v1alpha1.ActionRetryWithGuidance
}

// Fail writes into the status that the current attempt is over.
func Fail(st *v1alpha1.MotorRunStatus, f *v1alpha1.FailureSummary, at metav1.Time) {
	if a := st.LatestAttempt(); a != nil && a.Failure == nil {
		a.Failure, a.CompletionTime = f, &at
	}
}

// Begin writes the next attempt into the status. Of the earlier attempts, only the current one's recovery context is needed.
func Begin(st *v1alpha1.MotorRunStatus, n *Next, now time.Time) {
	for i := range st.Attempts {
		st.Attempts[i].RecoveryContext = ""
	}
	st.Attempts = append(st.Attempts, v1alpha1.AttemptStatus{
		Index: n.Index, Cause: n.Cause, RecoveryContext: n.RecoveryContext, StartTime: new(metav1.NewTime(now)),
	})
	st.PendingInputs = nil
	if n.NewSandbox && st.Sandbox != nil {
		replace(st)
	}
}

// replace marks the Pod in the status as used up. Until another Pod exists, the status names the one that must be gone before.
func replace(st *v1alpha1.MotorRunStatus) {
	st.Sandbox = &v1alpha1.SandboxStatus{PodName: st.Sandbox.PodName, PodUID: st.Sandbox.PodUID}
}

// Replaced reports whether the status names a Pod that is used up, and not the present one. Only of the present one the status has the creation
// time.
func Replaced(sb *v1alpha1.SandboxStatus) bool { return sb != nil && sb.CreationTime == nil }

// AttemptsOf returns the run's attempts up to the current one, which the journal may know alone if the status was lost. There is at least the first.
func AttemptsOf(st *v1alpha1.MotorRunStatus, p Progress, now time.Time) []v1alpha1.AttemptStatus {
	attempts := st.Attempts
	for n := int32(len(attempts)) + 1; n <= max(p.Attempt, 1); n++ {
		a := v1alpha1.AttemptStatus{Index: n, Cause: v1alpha1.CauseFirst, StartTime: new(metav1.NewTime(now))}
		if n > 1 {
			a.Cause = v1alpha1.CauseRetry
		}
		attempts = append(attempts, a)
	}
	return attempts
}
