// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// cancelWithin is much longer than it takes, and much shorter than what the runs of these tests are at.
const cancelWithin = time.Minute

func TestCancelEndsARunWithinSecondsInAnyPhase(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		change func(*v1alpha1.MotorRun)
		// until waits for the moment to cancel at.
		until func(*testing.T, *v1alpha1.MotorRun)
	}{
		"at once":                  {script: "answer", until: func(*testing.T, *v1alpha1.MotorRun) {}},
		"while a tool runs":        {script: "sleep", until: func(t *testing.T, r *v1alpha1.MotorRun) { awaitCommand(t, r) }},
		"while it waits":           {script: "ask", until: func(t *testing.T, r *v1alpha1.MotorRun) { awaitQuestion(t, r) }},
		"while the model is quiet": {script: "hang", until: func(t *testing.T, r *v1alpha1.MotorRun) { awaitModelCall(t, "hang", 0, 0) }},
		"while it is suspended": {script: "sleep", until: func(t *testing.T, r *v1alpha1.MotorRun) {
			awaitCommand(t, r)
			suspend(t, r)
		}},
		"while it waits for a retry": {
			script: "fails", change: withAttempts(2), until: func(t *testing.T, r *v1alpha1.MotorRun) { wantRetryQuestion(t, r, 1) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := tt.change
			if change == nil {
				change = withAttempts(1)
			}
			run := startRun(t, tt.script, change)
			tt.until(t, run)
			cancel(t, run)
			ended := wantEnd(t, run, cancelWithin, v1alpha1.PhaseCancelled, v1alpha1.ReasonCancelled)
			podIsGone(t, run, cancelWithin)
			if ended.Status.Pending() != nil {
				t.Errorf("a cancelled run still waits for %+v", ended.Status.Pending())
			}
			wantCondition(t, ended, v1alpha1.ConditionAwaitingInput, metav1.ConditionFalse, v1alpha1.ReasonRunEnded)
		})
	}
}

func TestARunThatIsCreatedCancelledGetsNoSandbox(t *testing.T) {
	t.Parallel()
	run := startRun(t, "answer", func(r *v1alpha1.MotorRun) { r.Spec.Cancel = true })
	ended := wantEnd(t, run, cancelWithin, v1alpha1.PhaseCancelled, v1alpha1.ReasonCancelled)
	if found, err := exists(t.Context(), sandboxOf(run), &corev1.Pod{}); found || err != nil || ended.Status.Sandbox != nil {
		t.Errorf("a run that was never to begin has a sandbox: %t, %v, %+v", found, err, ended.Status.Sandbox)
	}
}

func TestACancelledRunStaysCancelled(t *testing.T) {
	t.Parallel()
	run := startRun(t, "ask")
	awaitQuestion(t, run)
	cancel(t, run)
	wantEnd(t, run, cancelWithin, v1alpha1.PhaseCancelled, v1alpha1.ReasonCancelled)
	_, stderr, err := tryKubectl(t.Context(), "", "-n", run.Namespace, "patch", "motorrun", run.Name, "--type=merge", "-p", `{"spec":{"cancel":false}}`)
	wantRefused(t, stderr, err, "spec.cancel", "cannot be brought back")
}
