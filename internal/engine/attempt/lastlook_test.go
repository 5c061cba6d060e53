// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
)

// Only the sandbox of the last step is inspected, and only if it runs: another one has other files.
func TestNothingToSee(t *testing.T) {
	t.Parallel()
	env := lookEnv(t)
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRunStatus)
		sees   bool
	}{
		"its sandbox":             {func(*v1alpha1.MotorRunStatus) {}, true},
		"another one":             {func(st *v1alpha1.MotorRunStatus) { st.Sandbox.PodUID = "another" }, false},
		"none":                    {func(st *v1alpha1.MotorRunStatus) { st.Sandbox = nil }, false},
		"one that has no address": {func(st *v1alpha1.MotorRunStatus) { st.Sandbox.PodIP = "" }, false},
		"one that does not run": {func(st *v1alpha1.MotorRunStatus) {
			apimeta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: "Any"})
		}, false},
	} {
		run := enginetest.ReadyRun()
		tt.change(&run.Status)
		if why := (&look{Attempt: &Attempt{Env: &runenv.Env{Run: run, Entries: env.Entries}}}).nothingToSee(); (why == "") != tt.sees {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A look uses the decision about the run, if that precedes the last step's.
func TestTheLookKnowsWhetherTheRunSucceeded(t *testing.T) {
	t.Parallel()
	env := lookEnv(t)
	for reason, want := range map[string]bool{"": false, v1alpha1.ReasonCompleted: true, v1alpha1.ReasonTimeout: false} {
		run := env.Run.DeepCopy()
		if reason != "" {
			run.Status.Ending = &v1alpha1.RunEnding{Reason: reason}
		}
		if got := (&look{Attempt: &Attempt{Env: &runenv.Env{Run: run, Entries: env.Entries}}}).succeeded(); got != want {
			t.Errorf("%q: %t", reason, got)
		}
	}
}

// lookEnv has a run with one step, which does not end it.
func lookEnv(t *testing.T) *runenv.Env {
	t.Helper()
	run := enginetest.ReadyRun()
	c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(enginetest.Step(run, 1, 1)).Build()
	return enginetest.Env(t, c, run, time.Now)
}
