// SPDX-License-Identifier: Apache-2.0

//go:build e2e && faults

package e2e_test

import (
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/chaos"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// setAsideWithin is the time of four ends of a manager, with what a node waits before it starts it again.
const setAsideWithin = 6 * time.Minute

// A run that ends every manager that carries it on is found among the others, and set aside. They go on, and so does it when a person says so.
func TestFaultARunThatEndsItsManagersIsSetAside(t *testing.T) {
	freshManagers(t)
	c := newCheck(t, "effects")
	killer := c.start("0.3", func(r *v1alpha1.MotorRun) {
		r.Annotations = map[string]string{chaos.KillAnnotation: string(attempt.BeforeIntent) + ":2:always"}
	})
	for range 3 {
		c.start("0.3")
	}
	began := time.Now()
	aside := awaitRun(t, killer, setAsideWithin, "to be set aside", func(r *v1alpha1.MotorRun) bool {
		stalled := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionStalled)
		return isTrue(r, v1alpha1.ConditionStalled) && stalled.Reason == v1alpha1.ReasonSetAside && r.Status.Execution.Worker != ""
	})
	t.Logf("set aside after %s: %+v", time.Since(began).Round(time.Second), *aside.Status.Losses)
	if runpolicy.CarriedOn(aside) || !strings.Contains(aside.Status.Message, `"suspend":true`) {
		t.Errorf("the worker %q carries it on: %s", aside.Status.Execution.Worker, aside.Status.Message)
	}
	wantAKilledManager(t)
	for _, run := range c.runs[1:] {
		wantCompleted(t, run, setAsideWithin)
	}
	patch(t, killer, types.MergePatchType, `{"metadata":{"annotations":{"`+chaos.KillAnnotation+`":null}}}`)
	suspend(t, killer)
	resume(t, killer)
	if done := wantCompleted(t, killer, setAsideWithin); done.Status.Losses != nil {
		t.Errorf("when it has ended, its losses are %+v", done.Status.Losses)
	}
	c.wantInvariants(t)
}
