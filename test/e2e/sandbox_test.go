// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func withResources(r v1alpha1.SandboxResources) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) { run.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: r} }
}

func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}

// Whether the kernel kills the program alone or the whole sandbox depends on the node; both are told.
func TestAProgramThatTakesTooMuchMemoryIsTold(t *testing.T) {
	t.Parallel()
	run := startRun(t, "memory", withResources(v1alpha1.SandboxResources{Memory: quantity("128Mi")}), onUnknown(v1alpha1.UnknownTellModel))
	done := wantCompleted(t, run, 2*soon)
	r := wantWholeJournal(t, done)[0].Status.Results[0]
	killed := r.ErrorCode == toolapi.CodeKilled && strings.Contains(r.Output, "memory")
	if r.OK || !killed && r.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("the model was told %+v", r)
	}
	if done.Status.Result.Summary != "I am still here." || len(done.Status.Attempts) != 1 {
		t.Errorf("the run says %q after %d attempts", done.Status.Result.Summary, len(done.Status.Attempts))
	}
}

// The tool server ends what fills the workspace, and the model goes on in the same sandbox.
func TestAWorkspaceThatIsOverfilledIsTold(t *testing.T) {
	t.Parallel()
	run := startRun(t, "disk", withResources(v1alpha1.SandboxResources{Workspace: quantity("16Mi")}))
	ended := wantCompleted(t, run, 3*soon)
	for _, part := range []string{"disk_full", "/workspace", "rm"} {
		if m := ended.Status.Result.Summary; !strings.Contains(m, part) {
			t.Errorf("the model was not told %q of the disk: %s", part, m)
		}
	}
	podIsGone(t, run, soon)
}

func TestASandboxThatNoNodeCanTakeIsExplainedAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	run := startRun(t, "answer", withResources(v1alpha1.SandboxResources{CPU: quantity("1000")}))
	stuck := awaitRun(t, run, soon, "an unschedulable sandbox", func(r *v1alpha1.MotorRun) bool {
		return condition(r, v1alpha1.ConditionSandboxReady).Reason == v1alpha1.ReasonUnschedulable
	})
	wantCondition(t, stuck, v1alpha1.ConditionSandboxReady, metav1.ConditionFalse, v1alpha1.ReasonUnschedulable)
	wantCondition(t, stuck, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonUnschedulable)
	for _, part := range []string{"Insufficient cpu", "spec.sandbox.resources"} {
		if m := condition(stuck, v1alpha1.ConditionSandboxReady).Message; !strings.Contains(m, part) {
			t.Errorf("the condition does not say %q: %s", part, m)
		}
	}
	if stuck.Status.Phase != v1alpha1.PhaseCreated || !strings.Contains(stuck.Status.Message, "Insufficient cpu") {
		t.Errorf("the run is %s: %s", stuck.Status.Phase, stuck.Status.Message)
	}
	cancel(t, run)
	wantEnd(t, run, cancelWithin, v1alpha1.PhaseCancelled, v1alpha1.ReasonCancelled)
	podIsGone(t, run, cancelWithin)
}
