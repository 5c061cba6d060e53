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

// showPendingInput shows what the run waits for: that somebody asks for another attempt, or an answer.
func showPendingInput(s *scope, retry *v1alpha1.PendingInput) {
	st := &s.run.Status
	pending, again := runpolicy.ToShow(s.run, s.progress, s.bounds, s.now)
	s.wake(again)
	st.PendingInput = nil
	switch {
	case retry != nil:
		st.PendingInput = retry
		reason := v1alpha1.ReasonAttemptFailed
		if a := st.Attempts[len(st.Attempts)-1]; a.Failure.Category == v1alpha1.CategoryBudgetExhausted {
			reason = v1alpha1.ReasonBudgetExhausted
		}
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, reason, retry.Question)
	case pending != nil:
		st.PendingInput = pending
		reason := v1alpha1.ReasonQuestion
		switch pending.Kind {
		case v1alpha1.InputOutcomeUnknown:
			reason = v1alpha1.ReasonOutcomeUnknown
		case v1alpha1.InputDomainRequest:
			reason = v1alpha1.ReasonDomainRequest
		case v1alpha1.InputApproval:
			reason = v1alpha1.ReasonApproval
		case v1alpha1.InputQuestion, v1alpha1.InputRetry:
		}
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, reason, pending.Question)
	case hasExpired(s.progress):
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonAnswered, "Every question was answered, or its time was over.")
	case hasAnswers(s) || slices.ContainsFunc(st.Attempts, wasAskedFor):
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonAnswered, answeredMessage(s.run))
	default:
		s.set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonNothingAsked, "The run has asked nothing.")
	}
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

// showRequest shows that the model asks for a domain. That depends on what the sandbox may reach by now, so it comes after
// the steps that see to that.
func showRequest(s *scope) {
	if s.asksDomain && !isFinished(s.run) {
		showPendingInput(s, nil)
	}
}

// hasAnswers says whether a question was asked that is open no more.
func hasAnswers(s *scope) bool {
	asked := len(s.progress.Asked)
	if q := s.progress.Pending; q != nil && !runpolicy.Answered(s.run, q) {
		if _, ok := s.progress.Asked[q.ID]; ok {
			asked--
		}
	}
	return asked > 0
}

// hasExpired says whether the run went on without an answer: only a request to approve a call lets it.
func hasExpired(p runpolicy.Progress) bool {
	for _, a := range p.Approvals {
		if a.Outcome == v1alpha1.ApprovalExpired {
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
