// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// progress shows in the status what the journal says.
func (r *MotorRunReconciler) progress(_ context.Context, s *scope) (bool, error) {
	st, p := &s.run.Status, s.progress
	st.Steps, st.Usage = p.Turns, p.Usage
	st.Artifacts, _ = runpolicy.ShowArtifacts(p.Artifacts)
	if p.ModelName != "" {
		st.Model = p.ModelName
	}
	showAttempt(s)
	showIsolation(s)
	showResponses(s)
	return true, nil
}

// showAwaitingInput says whether the run waits for a person, and for what. It comes after the steps that put an answer into effect.
func showAwaitingInput(s *scope) {
	st := &s.run.Status
	pending := st.PendingInput
	if pending != nil {
		pending.Answered = pending.Kind != v1alpha1.InputRetry && runpolicy.IsInEffect(s.run, s.progress, s.bounds)
	}
	switch {
	case pending != nil && !runpolicy.Answered(s.run, pending):
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, awaitingReason(st, pending), pending.Question)
	case hasExpired(s.progress):
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonAnswered, "Every question was answered, or its time was over.")
	case len(s.progress.Asked) > 0 || slices.ContainsFunc(st.Attempts, wasAskedFor):
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonAnswered, answeredMessage(s.run))
	default:
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonNothingAsked, "The run has asked nothing.")
	}
}

// awaitingReason is the reason of AwaitingInput while a person is asked.
func awaitingReason(st *v1alpha1.MotorRunStatus, p *v1alpha1.PendingInput) string {
	switch p.Kind {
	case v1alpha1.InputRetry:
		if f := st.Attempts[len(st.Attempts)-1].Failure; f != nil && f.Category == v1alpha1.CategoryBudgetExhausted {
			return v1alpha1.ReasonBudgetExhausted
		}
		return v1alpha1.ReasonAttemptFailed
	case v1alpha1.InputOutcomeUnknown:
		return v1alpha1.ReasonOutcomeUnknown
	case v1alpha1.InputDomainRequest:
		return v1alpha1.ReasonDomainRequest
	case v1alpha1.InputApproval:
		return v1alpha1.ReasonApproval
	case v1alpha1.InputQuestion:
	}
	return v1alpha1.ReasonQuestion
}

// answeredMessage names who gave the last answer, and what was decided: it is what the Event says.
func answeredMessage(run *v1alpha1.MotorRun) string {
	const all = "Every question was answered"
	if len(run.Spec.Responses) == 0 {
		return all + "."
	}
	last := &run.Spec.Responses[len(run.Spec.Responses)-1]
	switch who := runpolicy.Title(last.RespondedBy); {
	case who == "":
		return all + "."
	case last.Decision != "":
		return fmt.Sprintf("%s, the last one with %s, by %s.", all, last.Decision, who)
	default:
		return fmt.Sprintf("%s, the last one by %s.", all, who)
	}
}

// hasExpired reports whether the run went on without an answer.
func hasExpired(p runpolicy.Progress) bool {
	for _, a := range p.Asked {
		if a.Outcome == v1alpha1.AskExpired {
			return true
		}
	}
	return false
}

func wasAskedFor(a v1alpha1.AttemptStatus) bool { return a.Cause == v1alpha1.CauseRetry }

func showResponses(s *scope) {
	unknown := runpolicy.UnknownResponses(s.run, s.progress)
	if len(unknown) == 0 {
		s.set(v1alpha1.ConditionResponsesValid, metav1.ConditionTrue, v1alpha1.ReasonResponsesValid, "Every response answers something that was asked.")
		return
	}
	message := fmt.Sprintf("Nothing was asked under the id of %s, so it is ignored. Answer with the id in status.pendingInput.id.", strings.Join(unknown, ", "))
	if slices.ContainsFunc(s.run.Spec.Responses, func(r v1alpha1.Response) bool { return strings.HasPrefix(r.ID, "retry-") }) {
		message += " Another attempt is asked for in spec.retries."
	}
	s.set(v1alpha1.ConditionResponsesValid, metav1.ConditionFalse, v1alpha1.ReasonUnknownQuestion, message)
}
