// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// suspend stops the run and waits until it is said to stand still.
func suspend(t *testing.T, run *v1alpha1.MotorRun) *v1alpha1.MotorRun {
	t.Helper()
	patch(t, run, types.MergePatchType, `{"spec":{"suspend":true}}`)
	return awaitRun(t, run, soon, "a pause", func(r *v1alpha1.MotorRun) bool { return isTrue(r, v1alpha1.ConditionSuspended) })
}

func resume(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	patch(t, run, types.MergePatchType, `{"spec":{"suspend":false}}`)
}

// passes waits until that time. It is for what must not happen meanwhile.
func passes(t *testing.T, until time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(until)):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

func TestASuspendedRunStandsStillAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	mark := lastModelCall(t)
	run := startRun(t, "once", withLimits(v1alpha1.RunLimits{ActiveDeadlineSeconds: int32(limit.Seconds())}))
	awaitCommand(t, run)
	paused := suspend(t, run)
	if paused.Status.Paused.StartTime == nil {
		t.Error("nothing says since when the run is suspended")
	}
	// The command that runs is not taken back, and what it comes to is for later.
	inSandbox(t, run, "until grep -q second /workspace/effects; do sleep 0.05; done")
	passes(t, run.CreationTimestamp.Add(limit+3*time.Second))
	still := awaitRun(t, run, soon, "its pause", func(*v1alpha1.MotorRun) bool { return true })
	wantCondition(t, still, v1alpha1.ConditionFinished, metav1.ConditionFalse, "")
	wantCondition(t, still, v1alpha1.ConditionSuspended, metav1.ConditionTrue, v1alpha1.ReasonSuspended)
	if still.Status.Steps != 2 {
		t.Errorf("while it was suspended the run came to step %d", still.Status.Steps)
	}
	resume(t, run)
	done := wantCompleted(t, run, soon)
	if done.Status.Result.Summary != "first\nsecond\nthird" {
		t.Errorf("the effects were %q", done.Status.Result.Summary)
	}
	if p := done.Status.Paused; p.StartTime != nil || p.DurationSeconds < 3 {
		t.Errorf("the pause was counted as %+v", p)
	}
	if done.Status.Sandbox.PodUID != still.Status.Sandbox.PodUID {
		t.Error("the run went on in another sandbox")
	}
	wantCondition(t, done, v1alpha1.ConditionSuspended, metav1.ConditionFalse, "")
	wantWholeJournal(t, done)
	// To suspend a run may cost the model call that was under way, and no more.
	wantModelCalls(t, "once", mark, 5, 1)
}

func TestARunThatIsCreatedSuspendedDoesNotBegin(t *testing.T) {
	t.Parallel()
	run := startRun(t, "answer", func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true })
	awaitRun(t, run, soon, "a pause", func(r *v1alpha1.MotorRun) bool { return isTrue(r, v1alpha1.ConditionSuspended) })
	if found, err := exists(t.Context(), sandboxOf(run), &corev1.Pod{}); found || err != nil {
		t.Errorf("a run that does not begin has a sandbox (%t, %v)", found, err)
	}
	resume(t, run)
	if s := wantCompleted(t, run, soon).Status.Result.Summary; !strings.Contains(s, "hello") {
		t.Errorf("summary %q", s)
	}
}
