// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func acceptedCondition(status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: status, Reason: reason}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change  func(*v1alpha1.MotorRun, *Progress)
		paused  bool
		stopped bool
	}{
		"running":   {func(*v1alpha1.MotorRun, *Progress) {}, false, false},
		"suspended": {func(r *v1alpha1.MotorRun, _ *Progress) { r.Spec.Suspend = true }, true, true},
		"resumed, and the status does not say so yet": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{suspendedSince(metav1.ConditionTrue, 0)}
		}, false, true},
		"resumed": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{suspendedSince(metav1.ConditionFalse, 0)}
		}, false, false},
		"suspended while it asks": {func(r *v1alpha1.MotorRun, p *Progress) {
			r.Spec.Suspend, p.Pending = true, pendingQuestion("q", "Which?", "s", 0)
		}, false, true},
		"asks": {func(_ *v1alpha1.MotorRun, p *Progress) { p.Pending = pendingQuestion("q", "Which?", "s", 0) }, false, false},
		"queued": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{acceptedCondition("False", "Queued")}
		}, true, true},
		"a copy that waits for a person": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{acceptedCondition("False", "CopiedRun")}
		}, true, true},
		"not accepted for another reason": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{acceptedCondition("False", "ModelSecretNotFound")}
		}, false, false},
		"no node has room": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnschedulable}}
		}, true, true},
		"no replica has a slot": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSlotsTaken}}
		}, true, true},
		"no quota has room": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSandboxRefused, Message: "pods is forbidden: exceeded quota: pods",
			}}
		}, true, true},
		"refused for another reason": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSandboxRefused, Message: "a webhook refused it",
			}}
		}, false, false},
		"no node has room, and it asks": {func(r *v1alpha1.MotorRun, p *Progress) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnschedulable}}
			p.Pending = pendingQuestion("q", "Which?", "s", 0)
		}, false, true},
		"waits for a retry": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{Kind: v1alpha1.InputRetry})
		}, true, false},
	}
	for name, tt := range tests {
		run, p := testRun(), Progress{}
		tt.change(run, &p)
		if got := Paused(run, p); got != tt.paused {
			t.Errorf("%s: paused %t", name, got)
		}
		if got := timeoutAt(Observation{Run: run, Progress: p}, t0).IsZero(); got != tt.stopped {
			t.Errorf("%s: cannot time out %t", name, got)
		}
		if got := Deadline(run, p).IsZero(); got != tt.stopped {
			t.Errorf("%s: has no deadline %t", name, got)
		}
	}
}

func TestCountPause(t *testing.T) {
	t.Parallel()
	var st v1alpha1.PauseStatus
	for i, tt := range []struct {
		at      time.Duration
		paused  bool
		counted time.Duration
	}{
		{0, false, 0},
		{10*sec + 900*time.Millisecond, true, sec},
		{12 * sec, true, 2 * sec},
		{15*sec + time.Millisecond, false, 6 * sec},
		{20 * sec, false, 6 * sec},
		{30 * sec, true, 6 * sec},
		// The clock was set back.
		{25 * sec, true, 6 * sec},
		{25 * sec, false, 6 * sec},
	} {
		CountPause(&st, tt.paused, after(tt.at))
		again := st
		CountPause(&again, tt.paused, after(tt.at))
		if got := pausedFor(st, after(tt.at)); got != tt.counted || (st.StartTime != nil) != tt.paused || again != st {
			t.Errorf("%d: %s counted, %+v", i, got, st)
		}
	}
}

func TestDeadlineAsTheEngineTellsIt(t *testing.T) {
	t.Parallel()
	run := testRun()
	run.Status.Paused.DurationSeconds = 7
	p := Progress{Waited: 5 * sec, Pending: pendingQuestion("q", "Which?", "s", 10*sec)}
	if got := Deadline(run, p); !got.Equal(after(142 * sec)) {
		t.Errorf("while a question is open: %s", got)
	}
	if got := Deadline(run, p.Answering(after(13*sec))); !got.Equal(after(115 * sec)) {
		t.Errorf("when its answer is used: %s", got)
	}
	if got := Deadline(run, Progress{}.Answering(after(13*sec))); !got.Equal(after(107 * sec)) {
		t.Errorf("without a question: %s", got)
	}
	run.Status.Paused.StartTime = new(metav1.NewTime(t0))
	if got := Deadline(run, Progress{}); !got.IsZero() {
		t.Errorf("in a pause: %s", got)
	}
}
