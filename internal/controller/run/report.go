// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// showAttempt shows how far the current attempt got.
func showAttempt(s *pass.Run) {
	st, p := &s.Run.Status, s.Progress
	if a := st.LatestAttempt(); a.CompletionTime == nil {
		a.Iterations, a.Usage, a.LastCalls = p.Iterations, p.AttemptUsage, p.LastCalls
	}
	runpolicy.ShowCosts(st, p)
}

// showModel shows that the run waits for its model, or that the model answers again. A run whose model was always available has no such condition.
func showModel(s *pass.Run) {
	o := s.Progress.Outage
	switch latest := s.Run.Status.LatestAttempt(); {
	case o == nil && apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionModelAvailable) == nil:
		return
	case latest != nil && latest.CompletionTime != nil:
		s.Set(v1alpha1.ConditionModelAvailable, metav1.ConditionUnknown, v1alpha1.ReasonModelNotAsked, "The attempt is over, so the model is not asked.")
		return
	case o == nil && s.Progress.LastStep != "":
		s.Set(v1alpha1.ConditionModelAvailable, metav1.ConditionTrue, v1alpha1.ReasonModelAnswers, "The model answers again.")
		return
	case o == nil:
		return
	}
	how := "It is asked again and again"
	if o.MustAct {
		how = "It is asked again now and then, and at once when the MotorCortex was changed"
	}
	message := fmt.Sprintf("%s The run waits for it since %s, and its clock stands. %s; at %s the attempt fails.", o.Message,
		o.Since.UTC().Format(time.RFC3339), how, o.Until(s.Run).UTC().Format(time.RFC3339))
	if s.Run.Spec.Suspend {
		s.Set(v1alpha1.ConditionModelAvailable, metav1.ConditionFalse, o.Reason, message)
		return
	}
	// A run that asks a person is not stalled: it waits for the answer.
	s.Block(v1alpha1.ConditionModelAvailable, o.Reason, message, o.MustAct && o.Ask == nil)
}

// summarize derives the parts of the status that summarize the conditions.
func summarize(s *pass.Run) {
	st := &s.Run.Status
	st.ObservedGeneration = s.Run.Generation
	if st.StartTime == nil {
		st.StartTime = &metav1.Time{Time: s.Now}
	}
	if pass.IsFinished(s.Run) {
		s.Set(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonRunEnded, "The run has ended.")
		summarizeEnd(s)
		return
	}
	if s.Concluded {
		showAwaitingInput(s)
	}
	runpolicy.CountPause(&st.Paused, runpolicy.Paused(s.Run, s.Progress), s.Now)
	s.Set(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonRunning, "The run has not ended.")
	s.Set(v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning, "The run has not ended.")
	s.Set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRunning, "The run is being carried out.")
	st.Phase, st.Message = phase(s), fit.CutEncoded(statusMessage(s), pass.MaxMessage)
	st.Reason, st.PendingKind = statusReason(s), ""
	if p := awaited(s); p != nil {
		st.PendingKind = p.Kind
	}
	switch {
	case s.SetAside:
		s.Set(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonSetAside, st.Message)
	case s.Stalled:
		s.Set(v1alpha1.ConditionStalled, metav1.ConditionTrue, apimeta.FindStatusCondition(st.Conditions, s.Blocked).Reason, st.Message)
	default:
		apimeta.RemoveStatusCondition(&st.Conditions, v1alpha1.ConditionStalled)
	}
}

// summarizeEnd retains Stalled for a run that failed: kstatus reads it as "failed", and its absence as "current".
func summarizeEnd(s *pass.Run) {
	s.Run.Status.PendingKind = ""
	c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c != nil {
		s.Run.Status.Reason = c.Reason
	}
	if c != nil && c.Status == metav1.ConditionFalse {
		s.Set(v1alpha1.ConditionStalled, metav1.ConditionTrue, c.Reason, c.Message)
		return
	}
	apimeta.RemoveStatusCondition(&s.Run.Status.Conditions, v1alpha1.ConditionStalled)
}

func phase(s *pass.Run) v1alpha1.RunPhase {
	switch p := awaited(s); {
	case p != nil && p.Kind == v1alpha1.InputApproval:
		return v1alpha1.PhaseAwaitingApproval
	case p != nil:
		return v1alpha1.PhaseAwaitingInput
	case apimeta.IsStatusConditionTrue(s.Run.Status.Conditions, v1alpha1.ConditionSandboxReady):
		return v1alpha1.PhaseRunning
	}
	return v1alpha1.PhaseCreated
}

// statusReason returns the reason of the condition in the message, and Running if the run goes on.
func statusReason(s *pass.Run) string {
	if s.SetAside {
		return v1alpha1.ReasonSetAside
	}
	condition := s.Blocked
	if awaited(s) != nil {
		condition = v1alpha1.ConditionAwaitingInput
	}
	if s.Run.Spec.Suspend {
		condition = v1alpha1.ConditionSuspended
	}
	if c := apimeta.FindStatusCondition(s.Run.Status.Conditions, condition); c != nil {
		return c.Reason
	}
	return v1alpha1.ReasonRunning
}

// awaited returns the input of a person that the run waits for, nil if it does not wait.
func awaited(s *pass.Run) *v1alpha1.PendingInput {
	p := s.Run.Status.Pending()
	if runpolicy.Answered(s.Run, p) {
		return nil
	}
	return p
}

func statusMessage(s *pass.Run) string {
	waitsFor := ""
	if p := awaited(s); p != nil {
		switch p.Kind {
		case v1alpha1.InputRetry:
			waitsFor = questionOf(s.Run, p)
		case v1alpha1.InputApproval:
			waitsFor = "Waiting for approval: " + questionOf(s.Run, p)
		default:
			waitsFor = "Waiting for an answer: " + questionOf(s.Run, p)
		}
	}
	if s.Run.Spec.Suspend {
		return strings.TrimSpace(suspendedMessage(s.Run) + " " + waitsFor)
	}
	if waitsFor != "" {
		return waitsFor
	}
	if c := apimeta.FindStatusCondition(s.Run.Status.Conditions, s.Blocked); c != nil {
		return c.Message
	}
	if s.Message != "" {
		return s.Message
	}
	switch s.Run.Spec.Mode {
	case v1alpha1.ModeOneshot:
		return "Running the code."
	case v1alpha1.ModeInstall:
		return "Installing the packages."
	case v1alpha1.ModeAgentic:
	}
	if c := s.Progress.Running; c != nil {
		return fmt.Sprintf("Working on %s.", c)
	}
	return fmt.Sprintf("Waiting for the model: step %d.", s.Run.Status.Steps+1)
}

// showAwaitingInput shows whether the run waits for a person, and for what. It runs after the steps that put an answer into effect.
func showAwaitingInput(s *pass.Run) {
	st := &s.Run.Status
	ask := st.Pending()
	if ask != nil {
		switch ask.Kind {
		case v1alpha1.InputBudgetExhausted:
			ask.Answered = runpolicy.Answered(s.Run, ask)
		default:
			ask.Answered = ask.Kind != v1alpha1.InputRetry && runpolicy.IsInEffect(s.Run, s.Progress, s.Bounds)
		}
	}
	switch {
	case ask != nil && !runpolicy.Answered(s.Run, ask):
		s.Set(v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, awaitingReason(st, ask), questionOf(s.Run, ask))
	case hasExpired(s.Progress):
		s.Set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonAnswered, "Every question was answered, or its time was over.")
	case len(s.Progress.Asked) > 0 || slices.ContainsFunc(st.Attempts, wasAskedFor) || budget.Answers(s.Run) > 0:
		s.Set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonAnswered, answeredMessage(s.Run))
	default:
		s.Set(v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonNothingAsked, "The run has asked nothing.")
	}
}

// questionOf returns the question of an ask and the command that answers it. An Event must hold both: a long question is cut, and status.pendingInputs
// has it whole.
func questionOf(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput) string {
	const asking, by = "Waiting for an answer: ", " To answer: "
	command := pending.Exact(run, p)
	if command == "" {
		return p.Question
	}
	return fit.CutEncoded(p.Question, pass.MaxNote-len(asking)-len(by)-len(command)) + by + command
}

// awaitingReason returns the reason of AwaitingInput while a person is asked.
func awaitingReason(st *v1alpha1.MotorRunStatus, p *v1alpha1.PendingInput) string {
	switch p.Kind {
	case v1alpha1.InputRetry:
		if f := st.LatestAttempt().Failure; f != nil && f.Category == v1alpha1.CategoryBudgetExhausted {
			return v1alpha1.ReasonBudgetExhausted
		}
		return v1alpha1.ReasonAttemptFailed
	case v1alpha1.InputOutcomeUnknown:
		return v1alpha1.ReasonOutcomeUnknown
	case v1alpha1.InputDomainRequest:
		return v1alpha1.ReasonDomainRequest
	case v1alpha1.InputApproval:
		return v1alpha1.ReasonApproval
	case v1alpha1.InputBudgetExhausted:
		return v1alpha1.ReasonBudgetExhausted
	case v1alpha1.InputQuestion:
	}
	return v1alpha1.ReasonQuestion
}

// answeredMessage names the author and the content of the last answer: it is the text of the Event.
func answeredMessage(run *v1alpha1.MotorRun) string {
	const all = "Every question was answered"
	if len(run.Spec.Responses) == 0 {
		return all + "."
	}
	last := &run.Spec.Responses[len(run.Spec.Responses)-1]
	switch who := fit.Title(last.RespondedBy); {
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

func showResponses(s *pass.Run) {
	unknown := runpolicy.UnknownResponses(s.Run, s.Progress)
	if len(unknown) == 0 {
		s.Set(v1alpha1.ConditionResponsesValid, metav1.ConditionTrue, v1alpha1.ReasonResponsesValid, "Every response answers something that was asked.")
		return
	}
	message := fmt.Sprintf("Nothing was asked under the id of %s, so it is ignored. Answer with the id in status.pendingInputs[].id.", strings.Join(unknown, ", "))
	s.Set(v1alpha1.ConditionResponsesValid, metav1.ConditionFalse, v1alpha1.ReasonUnknownQuestion, message)
}

// showExposure marks a run whose sandbox can read a credential.
func showExposure(s *pass.Run) {
	var names []string
	for _, c := range s.Run.Spec.Credentials {
		if c.ExposeToSandbox {
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		s.Set(v1alpha1.ConditionCredentialsExposed, metav1.ConditionTrue, v1alpha1.ReasonCredentialsExposed, fmt.Sprintf(
			"The sandbox, and with it the model, can read %s, because of exposeToSandbox in spec.credentials.", strings.Join(names, ", ")))
	}
}

func showUserNamespace(s *pass.Run) {
	if h := s.Pod.Spec.HostUsers; h != nil && !*h {
		s.Set(v1alpha1.ConditionUserNamespace, metav1.ConditionTrue, v1alpha1.ReasonUserNamespaceInUse, "The sandbox has its own user namespace.")
		return
	}
	s.Set(v1alpha1.ConditionUserNamespace, metav1.ConditionFalse, v1alpha1.ReasonUserNamespaceUnsupported,
		"The sandbox shares the node's user namespace, because a node reports no support for user namespaces. It still has no capabilities and no root.")
}
