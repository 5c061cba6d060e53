// SPDX-License-Identifier: Apache-2.0

package controller

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// maxNote keeps below the 1024 bytes that the events API takes as a note.
const maxNote = 1000

// transition is an event to tell of.
type transition struct{ kind, reason, action, note string }

// toldOf are the conditions whose changes are events, with the verb that names the change.
var toldOf = []struct{ conditionType, action string }{
	{v1alpha1.ConditionAccepted, "Accept"},
	{v1alpha1.ConditionCredentialsExposed, "Accept"},
	{v1alpha1.ConditionSandboxReady, "StartSandbox"},
	{v1alpha1.ConditionUserNamespace, "StartSandbox"},
	{v1alpha1.ConditionEgressReady, "GrantEgress"},
	{v1alpha1.ConditionIsolationVerified, "VerifyIsolation"},
	{v1alpha1.ConditionAwaitingInput, "AskUser"},
	{v1alpha1.ConditionResponsesValid, "CheckResponses"},
	{v1alpha1.ConditionRetriesValid, "CheckRetries"},
	{v1alpha1.ConditionSuspended, "Suspend"},
	{v1alpha1.ConditionFinished, "Finish"},
}

// transitions compares what was with what is. Only a change of status or reason is one; a first state that says that
// nothing has happened yet is none.
func transitions(before, after *v1alpha1.MotorRun) []transition {
	list := attemptTransitions(before, after)
	for _, t := range toldOf {
		was := apimeta.FindStatusCondition(before.Status.Conditions, t.conditionType)
		is := apimeta.FindStatusCondition(after.Status.Conditions, t.conditionType)
		if is == nil || nothingYet(is.Reason) || (was != nil && was.Status == is.Status && was.Reason == is.Reason) {
			continue
		}
		if was == nil && isCheck(t.conditionType) && is.Status == metav1.ConditionTrue {
			continue
		}
		list = append(list, transition{eventType(t.conditionType, is, after), is.Reason, t.action, runpolicy.CutEncoded(is.Message, maxNote)})
	}
	return list
}

// isCheck says whether the condition is news only when it is False.
func isCheck(conditionType string) bool {
	return conditionType == v1alpha1.ConditionResponsesValid || conditionType == v1alpha1.ConditionRetriesValid
}

// nothingYet says whether a reason is no news, or is told of otherwise.
func nothingYet(reason string) bool {
	switch reason {
	case v1alpha1.ReasonAttemptFailed, v1alpha1.ReasonBudgetExhausted:
		return true
	case v1alpha1.ReasonRunning, v1alpha1.ReasonNothingAsked, v1alpha1.ReasonIsolationPending, v1alpha1.ReasonRunEnded, v1alpha1.ReasonSandboxRemoved,
		v1alpha1.ReasonEgressPending:
		return true
	}
	return false
}

func eventType(conditionType string, c *metav1.Condition, run *v1alpha1.MotorRun) string {
	good := c.Status == metav1.ConditionTrue
	switch {
	case conditionType == v1alpha1.ConditionAwaitingInput, conditionType == v1alpha1.ConditionSuspended, c.Reason == v1alpha1.ReasonSandboxStarting, c.Reason == v1alpha1.ReasonCancelled,
		c.Reason == v1alpha1.ReasonQueued:
		good = true
	case conditionType == v1alpha1.ConditionCredentialsExposed, c.Reason == v1alpha1.ReasonCredentialUnavailable:
		// They are True, and somebody should know.
		good = false
	case conditionType == v1alpha1.ConditionFinished:
		good = apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded)
	}
	if good {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}
