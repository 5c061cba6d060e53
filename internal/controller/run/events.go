// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// eventsOf are the conditions whose changes are events, with the verb that names the change.
var eventsOf = []struct{ conditionType, action string }{
	{v1alpha1.ConditionAccepted, "Accept"},
	{v1alpha1.ConditionCredentialsExposed, "Accept"},
	{v1alpha1.ConditionToolsOffered, "Accept"},
	{v1alpha1.ConditionSandboxReady, "StartSandbox"},
	{v1alpha1.ConditionUserNamespace, "StartSandbox"},
	{v1alpha1.ConditionEgressReady, "GrantEgress"},
	{v1alpha1.ConditionIsolationVerified, "VerifyIsolation"},
	{v1alpha1.ConditionModelAvailable, "AskModel"},
	{v1alpha1.ConditionAwaitingInput, "AskUser"},
	{v1alpha1.ConditionResponsesValid, "CheckResponses"},
	{v1alpha1.ConditionSuspended, "Suspend"},
	{v1alpha1.ConditionFinished, "Finish"},
}

// transitions compares the former status with the present one. Only a change of status or reason is a transition. A first state which means that
// nothing has happened yet, or that nothing is wrong, is none: each Event is a write, and the conditions show it.
func transitions(before, after *v1alpha1.MotorRun) []pass.Transition {
	list := attemptTransitions(before, after)
	if runpolicy.IsSetAside(&after.Status) && !runpolicy.IsSetAside(&before.Status) {
		list = append(list, pass.NewTransition(corev1.EventTypeWarning, v1alpha1.ReasonSetAside, "Place", after.Status.Message))
	}
	list = append(list, rejectedSkills(before, after)...)
	for _, t := range eventsOf {
		was, is := pass.ChangedCondition(before.Status.Conditions, after.Status.Conditions, t.conditionType)
		if is == nil || nothingYet(is.Reason) || toldOtherwise(t.conditionType, is, after) {
			continue
		}
		if t.conditionType == v1alpha1.ConditionAwaitingInput && isAboutApproval(was, is) {
			continue
		}
		if is.Status == metav1.ConditionTrue && isCheck(t.conditionType) && (was == nil || was.Status == metav1.ConditionUnknown) {
			continue
		}
		list = append(list, pass.NewTransition(eventType(t.conditionType, is, after), is.Reason, t.action, is.Message))
	}
	return list
}

// rejectedSkills reports the skills that a run which has just ended left behind, and that were not stored.
func rejectedSkills(before, after *v1alpha1.MotorRun) []pass.Transition {
	if before.Status.Result != nil || after.Status.Result == nil || after.Status.Result.Skills == nil {
		return nil
	}
	var said []string
	for _, r := range after.Status.Result.Skills.Rejected {
		said = append(said, fmt.Sprintf("%s: %s", r.Path, r.Message))
	}
	if len(said) == 0 {
		return nil
	}
	note := "Not kept as a proposal: " + strings.Join(said, "; ")
	return []pass.Transition{pass.NewTransition(corev1.EventTypeWarning, v1alpha1.EventSkillRejected, "CollectSkills", note)}
}

// The events of requests to approve a call.
const (
	reasonApprovalRequested = "ApprovalRequested"
	actionApprove           = "Approve"
)

// isAboutApproval reports whether approvalTransitions covers a change of AwaitingInput, because it knows who decided what.
func isAboutApproval(was, is *metav1.Condition) bool {
	return is.Reason == v1alpha1.ReasonApproval ||
		was != nil && was.Reason == v1alpha1.ReasonApproval && is.Reason == v1alpha1.ReasonAnswered
}

// approvalTransitions reports the request that is shown now and was not before, and the outcome of the one before it.
func approvalTransitions(before, after *v1alpha1.MotorRun, p runpolicy.Progress) []pass.Transition {
	was, is := approvalShown(before), approvalShown(after)
	if was != nil && is != nil && was.ID == is.ID {
		return nil
	}
	var list []pass.Transition
	if was != nil {
		a := p.Asked[was.ID]
		call := fmt.Sprintf("%s %s (%s)", was.Action.Tool, fit.CutEncoded(was.Action.Arguments, pass.MaxNote/2), was.Action.ArgsDigest)
		switch a.Outcome {
		case v1alpha1.AskApproved, v1alpha1.AskDenied:
			list = append(list, pass.NewTransition(corev1.EventTypeNormal, string(a.Outcome), actionApprove, fmt.Sprintf("%s, by %s: %s", a.Outcome, cmp.Or(a.By, "an unknown user"), call)))
		case v1alpha1.AskExpired:
			list = append(list, pass.NewTransition(corev1.EventTypeWarning, string(a.Outcome), actionApprove, "It was not decided in time, so it was not done: "+call))
		case v1alpha1.AskAnswered: // Only a question has this outcome.
		}
	}
	if is != nil {
		list = append(list, pass.NewTransition(corev1.EventTypeNormal, reasonApprovalRequested, actionApprove, questionOf(after, is)))
	}
	return list
}

func approvalShown(run *v1alpha1.MotorRun) *v1alpha1.PendingInput {
	if p := run.Status.Pending(); p != nil && p.Kind == v1alpha1.InputApproval && p.Action != nil {
		return p
	}
	return nil
}

// isCheck reports whether the condition is news only when it is False, or True again.
func isCheck(conditionType string) bool {
	switch conditionType {
	case v1alpha1.ConditionAccepted, v1alpha1.ConditionToolsOffered, v1alpha1.ConditionUserNamespace, v1alpha1.ConditionIsolationVerified,
		v1alpha1.ConditionResponsesValid:
		return true
	}
	return false
}

// toldOtherwise reports whether another Event has what a condition says: that of an attempt that failed, or of an ask.
func toldOtherwise(conditionType string, is *metav1.Condition, run *v1alpha1.MotorRun) bool {
	if p := run.Status.Pending(); conditionType == v1alpha1.ConditionAwaitingInput && is.Status == metav1.ConditionTrue && p != nil {
		return p.Kind == v1alpha1.InputRetry
	}
	return conditionType == v1alpha1.ConditionModelAvailable && is.Reason == v1alpha1.ReasonBudgetExhausted
}

// nothingYet reports whether a reason is no news.
func nothingYet(reason string) bool {
	switch reason {
	case v1alpha1.ReasonRunning, v1alpha1.ReasonNothingAsked, v1alpha1.ReasonIsolationPending, v1alpha1.ReasonRunEnded, v1alpha1.ReasonSandboxRemoved,
		v1alpha1.ReasonSandboxStarting, v1alpha1.ReasonEgressPending, v1alpha1.ReasonModelNotAsked:
		return true
	}
	return false
}

func eventType(conditionType string, c *metav1.Condition, run *v1alpha1.MotorRun) string {
	good := c.Status == metav1.ConditionTrue
	switch {
	case conditionType == v1alpha1.ConditionAwaitingInput, conditionType == v1alpha1.ConditionSuspended, c.Reason == v1alpha1.ReasonCancelled,
		c.Reason == v1alpha1.ReasonQueued, c.Reason == v1alpha1.ReasonNoEnergy, c.Reason == v1alpha1.ReasonSlotsTaken, c.Reason == v1alpha1.ReasonCopiedRun, c.Reason == v1alpha1.ReasonNoDomains:
		good = true
	case conditionType == v1alpha1.ConditionCredentialsExposed, c.Reason == v1alpha1.ReasonCredentialUnavailable:
		// They are True, and a person should know.
		good = false
	case conditionType == v1alpha1.ConditionFinished:
		good = apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	}
	if good {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

// The events of attempts.
const (
	reasonAttemptStarted = "AttemptStarted"
	actionAttempt        = "Attempt"
)

// attemptTransitions reports attempts that failed while the run goes on, and the attempts that followed. The end of a run reports its own failure.
func attemptTransitions(before, after *v1alpha1.MotorRun) []pass.Transition {
	var list []pass.Transition
	for i := range after.Status.Attempts {
		a := &after.Status.Attempts[i]
		isNew := i >= len(before.Status.Attempts)
		if isNew && i > 0 {
			list = append(list, pass.NewTransition(corev1.EventTypeNormal, reasonAttemptStarted, actionAttempt, startedNote(after, a)))
		}
		if a.Failure != nil && (isNew || before.Status.Attempts[i].Failure == nil) && !pass.IsFinished(after) {
			note := fmt.Sprintf("Attempt %d failed (%s): %s", a.Index, a.Failure.Reason, a.Failure.Message)
			list = append(list, pass.NewTransition(corev1.EventTypeWarning, v1alpha1.ReasonAttemptFailed, actionAttempt, note))
		}
	}
	return list
}

func startedNote(run *v1alpha1.MotorRun, a *v1alpha1.AttemptStatus) string {
	if a.Cause == v1alpha1.CauseInfrastructure {
		return fmt.Sprintf("Attempt %d begins in a new sandbox, because the former one was lost.", a.Index)
	}
	if r := runpolicy.RetryOf(run, a.Index-1); r != nil && r.RespondedBy != "" {
		return fmt.Sprintf("Attempt %d begins, as %s decided.", a.Index, fit.Title(r.RespondedBy))
	}
	return fmt.Sprintf("Attempt %d begins, as a person decided.", a.Index)
}

// observeEnd tells the Observer of a run whose end was just written.
func (r *Reconciler) observeEnd(s *pass.Run) {
	if r.Observer == nil || pass.IsFinished(s.Before) || !pass.IsFinished(s.Run) {
		return
	}
	c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil {
		return
	}
	r.Observer.RunEnded(c.Reason, c.Status == metav1.ConditionTrue, s.Now.Sub(s.Run.CreationTimestamp.Time))
}
