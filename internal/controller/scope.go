// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// scope is one pass over one run: what was observed, what is to be written, when to come back.
type scope struct {
	pass

	before *v1alpha1.MotorRun
	run    *v1alpha1.MotorRun

	progress    runpolicy.Progress
	observed    runpolicy.Observed
	pod         *corev1.Pod
	podState    *sandbox.State
	sandboxGone bool
	// former are the Pods of earlier attempts, which have to go.
	former []*corev1.Pod
	// orphans is how many steps under the run's name belong to no run.
	orphans int
	// bounds are what the namespace allows its runs to reach, see runpolicy.Bounds.
	bounds []v1alpha1.Domain
	// classes are the StorageClasses that the namespace allows the workspaces of its runs.
	classes []string
	// concluded says that the run goes on, as far as the pass knows: status.pendingInput is up to date.
	concluded bool
	// domains are what the run may reach now, leftOut what it asks for and is not given.
	domains, leftOut []v1alpha1.Domain
	// fell says that a wall of the sandbox was found open.
	fell bool
	// blocked is the condition that keeps the run from going on, for the message.
	blocked string
	// stalled says that somebody must change something before the run can go on.
	stalled bool
	// setAside says that no worker carries the run on.
	setAside bool
	// unseen says that the run ends without the last look at its sandbox.
	unseen bool
	// note is the message if no condition says what the run waits for.
	note string
	// held is given back when the pass is over and the status is written.
	held []func()
}

func newScope(run *v1alpha1.MotorRun, now time.Time) *scope {
	return &scope{pass: pass{now: now}, before: run.DeepCopy(), run: run}
}

// release gives back what the pass holds.
func (s *scope) release() {
	for _, f := range s.held {
		f()
	}
}

// set sets a condition of the run.
func (s *scope) set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	s.setCondition(&s.run.Status.Conditions, s.run.Generation, conditionType, status, reason, message)
}

// block sets a condition False and notes it as what the run waits for.
func (s *scope) block(conditionType, reason, message string, stalled bool) {
	s.set(conditionType, metav1.ConditionFalse, reason, message)
	s.blocked, s.stalled = conditionType, stalled
}

// pause is how soon what nobody tells of is looked at again. It grows with the run's age, so that thousands of runs that
// wait for somebody do not keep the API server busy, and ends where a person would think that nothing happens.
func (s *scope) pause() time.Duration {
	return min(max(s.now.Sub(s.run.CreationTimestamp.Time)/10, minPause), maxPause)
}

func (s *scope) changed() bool {
	return !equality.Semantic.DeepEqual(s.before.Status, s.run.Status)
}

// summarize derives the parts of the status that say in short what the conditions say.
func (s *scope) summarize() {
	st := &s.run.Status
	st.ObservedGeneration = s.run.Generation
	if st.StartedAt == nil {
		st.StartedAt = &metav1.Time{Time: s.now}
	}
	if isFinished(s.run) {
		// A leader of 0.1.0, which does not know it, may have ended the run.
		st.Ending = nil
		s.set(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonRunEnded, "The run has ended.")
		s.summarizeEnd()
		return
	}
	runpolicy.CountPause(&st.Paused, runpolicy.Paused(s.run, s.progress), s.now)
	s.set(v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonRunning, "The run has not ended.")
	s.set(v1alpha1.ConditionFinished, metav1.ConditionFalse, v1alpha1.ReasonRunning, "The run has not ended.")
	s.set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonRunning, "The run is being carried out.")
	st.Phase, st.Message = s.phase(), runpolicy.CutEncoded(s.message(), maxMessage)
	st.Reason, st.PendingKind = s.reason(), ""
	if p := s.awaited(); p != nil {
		st.PendingKind = p.Kind
	}
	switch {
	case s.setAside:
		s.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonSetAside, st.Message)
	case s.stalled:
		s.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, apimeta.FindStatusCondition(st.Conditions, s.blocked).Reason, st.Message)
	default:
		apimeta.RemoveStatusCondition(&st.Conditions, v1alpha1.ConditionStalled)
	}
}

// summarizeEnd keeps Stalled for a run that failed: kstatus takes it for "failed", and its absence for "current".
func (s *scope) summarizeEnd() {
	s.run.Status.PendingKind = ""
	c := apimeta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c != nil {
		s.run.Status.Reason = c.Reason
	}
	if c != nil && c.Status == metav1.ConditionFalse {
		s.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, c.Reason, c.Message)
		return
	}
	apimeta.RemoveStatusCondition(&s.run.Status.Conditions, v1alpha1.ConditionStalled)
}

func (s *scope) phase() v1alpha1.RunPhase {
	switch p := s.awaited(); {
	case p != nil && p.Kind == v1alpha1.InputApproval:
		return v1alpha1.PhaseAwaitingApproval
	case p != nil:
		return v1alpha1.PhaseAwaitingInput
	case apimeta.IsStatusConditionTrue(s.run.Status.Conditions, v1alpha1.ConditionSandboxReady):
		return v1alpha1.PhaseRunning
	}
	return v1alpha1.PhaseCreated
}

// reason returns the reason of the condition that message speaks of, and Running if the run goes on.
func (s *scope) reason() string {
	if s.setAside {
		return v1alpha1.ReasonSetAside
	}
	condition := s.blocked
	if s.awaited() != nil {
		condition = v1alpha1.ConditionAwaitingInput
	}
	if s.run.Spec.Suspend {
		condition = v1alpha1.ConditionSuspended
	}
	if c := apimeta.FindStatusCondition(s.run.Status.Conditions, condition); c != nil {
		return c.Reason
	}
	return v1alpha1.ReasonRunning
}

// awaited is what the run waits for a person for, nil if it does not.
func (s *scope) awaited() *v1alpha1.PendingInput {
	p := s.run.Status.PendingInput
	if runpolicy.Answered(s.run, p) {
		return nil
	}
	return p
}

func (s *scope) message() string {
	waitsFor := ""
	if p := s.awaited(); p != nil {
		switch p.Kind {
		case v1alpha1.InputRetry:
			waitsFor = p.Question
		case v1alpha1.InputApproval:
			waitsFor = "Waiting for approval: " + p.Question
		default:
			waitsFor = "Waiting for an answer: " + p.Question
		}
	}
	if s.run.Spec.Suspend {
		return strings.TrimSpace(suspendedMessage(s.run) + " " + waitsFor)
	}
	if waitsFor != "" {
		return waitsFor
	}
	if c := apimeta.FindStatusCondition(s.run.Status.Conditions, s.blocked); c != nil {
		return c.Message
	}
	if s.note != "" {
		return s.note
	}
	switch s.run.Spec.Mode {
	case v1alpha1.ModeOneshot:
		return "Running the code."
	case v1alpha1.ModeInstall:
		return "Installing the packages."
	case v1alpha1.ModeAgentic:
	}
	if c := s.progress.Running; c != nil {
		return fmt.Sprintf("Working on %s.", c)
	}
	return fmt.Sprintf("Waiting for the model: step %d.", s.run.Status.Steps+1)
}

func isFinished(run *v1alpha1.MotorRun) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished)
}
