// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// state is a value of the label state of motorcortex_runs.
type state string

const (
	stateSucceeded state = "succeeded"
	stateFailed    state = "failed"
	stateCancelled state = "cancelled"
	stateDeleting  state = "deleting"
	stateSuspended state = "suspended"
	stateAwaiting  state = "awaiting_input"
	stateStalled   state = "stalled"
	stateQueued    state = "queued"
	statePending   state = "pending"
	stateRunning   state = "running"
)

// standing is how a run stands, and the reason of the condition that says so.
type standing struct {
	state  state
	reason string
}

func (s standing) ended() bool {
	return s.state == stateSucceeded || s.state == stateFailed || s.state == stateCancelled
}

// course is what the metrics need of a run that has not ended.
type course struct {
	at         standing
	conditions []condition
	// queuedSince is zero if it waits for no slot.
	queuedSince time.Time
	asks        []ask
}

// condition is a condition of a run without its text.
type condition struct{ kind, status, reason string }

// ask is an ask that waits for a person.
type ask struct {
	kind           v1alpha1.InputKind
	asked, expires time.Time
}

// shownConditions are the conditions that tell something of a run that has not ended.
var shownConditions = []string{
	v1alpha1.ConditionAccepted, v1alpha1.ConditionSandboxReady, v1alpha1.ConditionUserNamespace, v1alpha1.ConditionIsolationVerified,
	v1alpha1.ConditionConfined, v1alpha1.ConditionToolsOffered, v1alpha1.ConditionEgressReady, v1alpha1.ConditionCredentialsExposed,
	v1alpha1.ConditionModelAvailable, v1alpha1.ConditionAwaitingInput, v1alpha1.ConditionResponsesValid, v1alpha1.ConditionSuspended,
	v1alpha1.ConditionStalled,
}

// standingOf reads the conditions of a run. A run is counted once: by the first of these that applies.
func standingOf(run *v1alpha1.MotorRun) standing {
	all := run.Status.Conditions
	if apimeta.IsStatusConditionTrue(all, v1alpha1.ConditionFinished) {
		return endOf(apimeta.FindStatusCondition(all, v1alpha1.ConditionSucceeded))
	}
	if !run.DeletionTimestamp.IsZero() {
		return standing{stateDeleting, ""}
	}
	for _, of := range []struct {
		kind   string
		status metav1.ConditionStatus
		state  state
	}{
		{v1alpha1.ConditionSuspended, metav1.ConditionTrue, stateSuspended},
		{v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, stateAwaiting},
		{v1alpha1.ConditionStalled, metav1.ConditionTrue, stateStalled},
		{v1alpha1.ConditionAccepted, metav1.ConditionFalse, statePending},
		{v1alpha1.ConditionModelAvailable, metav1.ConditionFalse, statePending},
		{v1alpha1.ConditionSandboxReady, metav1.ConditionFalse, statePending},
		{v1alpha1.ConditionEgressReady, metav1.ConditionFalse, statePending},
	} {
		c := apimeta.FindStatusCondition(all, of.kind)
		switch {
		case c == nil || c.Status != of.status:
		case isQueued(c):
			return standing{stateQueued, c.Reason}
		default:
			return standing{of.state, strings.Clone(c.Reason)}
		}
	}
	if apimeta.IsStatusConditionTrue(all, v1alpha1.ConditionAccepted) {
		return standing{stateRunning, v1alpha1.ReasonRunning}
	}
	return standing{statePending, ""}
}

func endOf(c *metav1.Condition) standing {
	switch {
	case c == nil:
		return standing{stateFailed, ""}
	case c.Status == metav1.ConditionTrue:
		return standing{stateSucceeded, strings.Clone(c.Reason)}
	case c.Reason == v1alpha1.ReasonCancelled:
		return standing{stateCancelled, v1alpha1.ReasonCancelled}
	}
	return standing{stateFailed, strings.Clone(c.Reason)}
}

func isQueued(c *metav1.Condition) bool {
	return c.Type == v1alpha1.ConditionAccepted && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonQueued
}

// courseOf returns what the metrics need of a run. It holds no part of the run: that would keep the whole of it in memory after a change.
func courseOf(run *v1alpha1.MotorRun, at standing) course {
	c := course{at: at}
	for i := range run.Status.Conditions {
		is := &run.Status.Conditions[i]
		if slices.Contains(shownConditions, is.Type) {
			c.conditions = append(c.conditions, condition{strings.Clone(is.Type), strings.Clone(string(is.Status)), strings.Clone(is.Reason)})
		}
		if isQueued(is) && at.state == stateQueued {
			c.queuedSince = is.LastTransitionTime.Time
		}
	}
	for i := range run.Status.PendingInputs {
		if p := &run.Status.PendingInputs[i]; !p.Answered {
			c.asks = append(c.asks, ask{v1alpha1.InputKind(strings.Clone(string(p.Kind))), p.AskTime.Time, p.ExpirationTime.Time})
		}
	}
	return c
}
