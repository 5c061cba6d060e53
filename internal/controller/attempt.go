// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// showAttempt shows how far the current attempt got. The first one is there from the first pass on.
func showAttempt(s *scope) {
	st, p := &s.run.Status, s.progress
	st.Attempts = runpolicy.AttemptsOf(st, p, s.now)
	if a := &st.Attempts[len(st.Attempts)-1]; a.FinishedAt == nil {
		a.Iterations, a.Usage, a.LastCalls = p.Iterations, p.AttemptUsage, p.LastCalls
	}
	runpolicy.RestoreAttempts(st, p)
}

// begin ends the current attempt and begins the next one, in one write: nobody can see the one without the other. What the
// former one left in the cluster goes when that is written, in the next pass.
func begin(s *scope, d runpolicy.Decision) {
	st := &s.run.Status
	runpolicy.Fail(st, d.Failure, d.FinishedAt)
	if d.Next.NewSandbox && s.pod != nil {
		st.Sandbox = &v1alpha1.SandboxStatus{PodName: s.pod.Name, PodUID: string(s.pod.UID)}
	}
	runpolicy.Begin(st, d.Next, s.now)
	st.Ending = nil
	// The former attempt's question is nobody's any more.
	s.progress.Pending, s.progress.Outage = nil, nil
	if d.Next.NewSandbox {
		s.block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxReplaced, fmt.Sprintf(
			"Attempt %d gets a new sandbox. The former one failed: %s", d.Next.Index, d.Failure.Message), false)
	}
}

// showRetries says which entries of spec.retries start nothing.
func showRetries(s *scope) {
	invalid := runpolicy.InvalidRetries(s.run)
	if len(invalid) == 0 {
		s.set(v1alpha1.ConditionRetriesValid, metav1.ConditionTrue, v1alpha1.ReasonRetriesValid, "Every retry has started an attempt or can start one.")
		return
	}
	late, over := []string{}, []string{}
	for _, i := range invalid {
		if i.Reason == v1alpha1.ReasonRetryTooLate {
			late = append(late, i.Entry)
		} else {
			over = append(over, i.Entry)
		}
	}
	var message []string
	if len(late) > 0 {
		message = append(message, fmt.Sprintf("That attempt began without %s, so it is ignored. The next attempt is in status.pendingInput.attempt.",
			strings.Join(late, ", ")))
	}
	if len(over) > 0 {
		message = append(message, fmt.Sprintf("There can be no such attempt within spec.maxAttempts, so %s is ignored.", strings.Join(over, ", ")))
	}
	s.set(v1alpha1.ConditionRetriesValid, metav1.ConditionFalse, invalid[0].Reason, strings.Join(message, " "))
}

// The events of attempts.
const (
	reasonAttemptStarted = "AttemptStarted"
	actionAttempt        = "Attempt"
)

// attemptTransitions tells of attempts that failed while the run goes on, and of those that followed. That the run itself
// failed is told by its end.
func attemptTransitions(before, after *v1alpha1.MotorRun) []transition {
	var list []transition
	for i := range after.Status.Attempts {
		a := &after.Status.Attempts[i]
		isNew := i >= len(before.Status.Attempts)
		if isNew && i > 0 {
			list = append(list, transition{corev1.EventTypeNormal, reasonAttemptStarted, actionAttempt, startedNote(after, a)})
		}
		if a.Failure != nil && (isNew || before.Status.Attempts[i].Failure == nil) && !isFinished(after) {
			note := fmt.Sprintf("Attempt %d failed (%s): %s", a.Index, a.Failure.Reason, a.Failure.Message)
			list = append(list, transition{corev1.EventTypeWarning, v1alpha1.ReasonAttemptFailed, actionAttempt, runpolicy.CutEncoded(note, maxNote)})
		}
	}
	return list
}

func startedNote(run *v1alpha1.MotorRun, a *v1alpha1.AttemptStatus) string {
	if a.Cause == v1alpha1.CauseInfrastructure {
		return fmt.Sprintf("Attempt %d begins in a new sandbox, because the former one was lost.", a.Index)
	}
	for i := range run.Spec.Retries {
		if r := &run.Spec.Retries[i]; r.Attempt == a.Index && r.RequestedBy != "" {
			return fmt.Sprintf("Attempt %d begins, as %s asks for in spec.retries.", a.Index, runpolicy.Title(r.RequestedBy))
		}
	}
	return fmt.Sprintf("Attempt %d begins, as spec.retries asks for.", a.Index)
}
