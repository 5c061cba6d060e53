// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// holed is a run whose sandbox had a hole.
func holed() *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "uid"}}
	run.Status.Worker, run.Status.Attempts = "w", []v1alpha1.AttemptStatus{{}}
	lost := metav1.NewTime(time.Unix(1000, 0))
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodUID: "pod", PodIP: "10.0.0.2", IsolationLostAt: &lost}
	for condition, reason := range map[string]string{v1alpha1.ConditionSandboxReady: "SandboxReady", v1alpha1.ConditionIsolationVerified: v1alpha1.ReasonIsolationLost} {
		status := metav1.ConditionFalse
		if condition == v1alpha1.ConditionSandboxReady {
			status = metav1.ConditionTrue
		}
		apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: condition, Status: status, Reason: reason})
	}
	return run
}

func TestMustHalt(t *testing.T) {
	t.Parallel()
	e := &Engine{Config: Config{Worker: "w"}}
	tests := map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   bool
	}{
		"a hole":                     {func(*v1alpha1.MotorRun) {}, true},
		"the run waits for a person": {func(r *v1alpha1.MotorRun) { r.Status.PendingInput = &v1alpha1.PendingInput{ID: "q"} }, true},
		"the run is suspended":       {func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }, true},
		"another replica's":          {func(r *v1alpha1.MotorRun) { r.Status.Worker = "other" }, false},
		"it never had one":           {func(r *v1alpha1.MotorRun) { r.Status.Sandbox.IsolationLostAt = nil }, false},
		"proved again": {func(r *v1alpha1.MotorRun) {
			apimeta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionIsolationVerified, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonIsolationVerified,
			})
		}, false},
		"no sandbox": {func(r *v1alpha1.MotorRun) { r.Status.Sandbox = nil }, false},
		"the run has ended": {func(r *v1alpha1.MotorRun) {
			apimeta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "Done"})
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := holed()
			tt.change(run)
			if got := e.mustHalt(run); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// A loop that was started before the hole is ended for it; one that was started after it halts the sandbox itself, and to end it
// again with each look would keep the run from going on.
func TestHaltAndTheLoop(t *testing.T) {
	t.Parallel()
	run := holed()
	key := client.ObjectKeyFromObject(run)
	for name, knows := range map[string]bool{"started before": false, "started after": true} {
		task := taskOf(run)
		if !knows {
			task.isolationLost = 0
		}
		stopped := false
		e := &Engine{
			Config: Config{Worker: "w"}, Now: time.Now, stopping: make(chan struct{}), halts: map[types.NamespacedName]*halting{},
			loops: map[types.NamespacedName]*loop{key: {task: task, running: true, cancel: func() { stopped = true }}},
		}
		if _, waits := e.halt(run); waits == knows || stopped == knows {
			t.Errorf("%s: waits %v, stopped %v", name, waits, stopped)
		}
	}
}

func TestAHaltThatIsDoneIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	run := holed()
	key := client.ObjectKeyFromObject(run)
	e := &Engine{
		Config: Config{Worker: "w"}, Now: time.Now, stopping: make(chan struct{}), loops: map[types.NamespacedName]*loop{},
		halts: map[types.NamespacedName]*halting{key: {task: taskOf(run), done: true}},
	}
	if _, waits := e.halt(run); waits {
		t.Error("the run waits for what was done")
	}
	again := metav1.NewTime(time.Unix(2000, 0))
	run.Status.Sandbox.IsolationLostAt = &again
	if _, waits := e.halt(run); !waits || e.halts[key].done {
		t.Error("another hole counts as the one before")
	}
}

func TestStillConnected(t *testing.T) {
	t.Parallel()
	err := stillConnected(toolapi.HaltResponse{All: 2, Connections: []toolapi.Connection{{Network: "tcp", Remote: "10.0.0.3:9000", State: "fin-wait-1"}}})
	for _, says := range []string{"2 connections", "tcp 10.0.0.3:9000 fin-wait-1"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %q", err, says)
		}
	}
}
