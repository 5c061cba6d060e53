// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// progress shows in the status what the journal says.
func (r *MotorRunReconciler) progress(_ context.Context, s *scope) (bool, error) {
	st, p := &s.run.Status, s.progress
	st.Steps, st.Usage = p.Turns, p.Usage
	if p.ModelName != "" {
		st.Model = p.ModelName
	}
	showAttempt(s)
	showIsolation(s)
	showPendingInput(s)
	showResponses(s)
	return true, nil
}

func showAttempt(s *scope) {
	st, p := &s.run.Status, s.progress
	if len(st.Attempts) == 0 {
		st.Attempts = []v1alpha1.AttemptStatus{{StartedAt: &metav1.Time{Time: s.now}}}
	}
	a := &st.Attempts[len(st.Attempts)-1]
	a.Index, a.Iterations, a.Usage, a.LastCalls = p.Attempt, p.Turns, p.Usage, p.LastCalls
}

func showIsolation(s *scope) {
	if sb := s.progress.Sandbox; sb != nil {
		s.set(v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified, fmt.Sprintf(
			"Every forbidden address was blocked %d times in a row, from %d ms after the first try on.", sb.IsolationTries, sb.IsolationMs))
		return
	}
	if f := s.progress.Failure; f != nil && f.Reason == v1alpha1.ReasonIsolationRefused {
		s.set(v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonIsolationUnverified, f.Message)
		return
	}
	s.set(v1alpha1.ConditionIsolationVerified, metav1.ConditionUnknown, v1alpha1.ReasonIsolationPending,
		"The sandbox was not tried yet, and nothing that the model asked for has run in it.")
}

func showPendingInput(s *scope) {
	st, pending := &s.run.Status, s.progress.Pending
	switch {
	case pending != nil && !runpolicy.Answered(s.run, pending):
		st.PendingInput = pending
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, v1alpha1.ReasonQuestion, pending.Question)
	case len(s.progress.Asked) > 0:
		st.PendingInput = nil
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonAnswered, "Every question was answered.")
	default:
		st.PendingInput = nil
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonNothingAsked, "The run has asked nothing.")
	}
}

func showResponses(s *scope) {
	unknown := runpolicy.UnknownResponses(s.run, s.progress)
	if len(unknown) == 0 {
		s.set(v1alpha1.ConditionResponsesValid, metav1.ConditionTrue, v1alpha1.ReasonResponsesValid, "Every response answers something that was asked.")
		return
	}
	s.set(v1alpha1.ConditionResponsesValid, metav1.ConditionFalse, v1alpha1.ReasonUnknownQuestion, fmt.Sprintf(
		"Nothing was asked under the id of %s, so it is ignored. Answer with the id in status.pendingInput.id.", strings.Join(unknown, ", ")))
}
