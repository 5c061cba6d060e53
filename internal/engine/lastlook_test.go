// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Only the sandbox that the last step was made in is looked at, and only if it runs: another one has other files.
func TestNothingToSee(t *testing.T) {
	t.Parallel()
	a, _ := (&drippingSandbox{}).artifactsOf(t)
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
		run := ready()
		tt.change(&run.Status)
		if why := (&look{run: run, entries: a.box.entries}).nothingToSee(); (why == "") != tt.sees {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A look goes by what was decided about the run, where that is decided before the last step says so.
func TestTheLookKnowsWhetherTheRunSucceeded(t *testing.T) {
	t.Parallel()
	box, _ := readingBox(t, false)
	for reason, want := range map[string]bool{"": false, v1alpha1.ReasonCompleted: true, v1alpha1.ReasonTimeout: false} {
		run := box.run.DeepCopy()
		if reason != "" {
			run.Status.Ending = &v1alpha1.RunEnding{Reason: reason}
		}
		if got := (&look{run: run, entries: box.entries}).succeeded(); got != want {
			t.Errorf("%q: %t", reason, got)
		}
	}
}
