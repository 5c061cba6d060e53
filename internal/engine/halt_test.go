// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// holed returns a run whose sandbox lost its isolation.
func holed() *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "uid"}}
	run.Status.Execution.Worker, run.Status.Attempts = "w", []v1alpha1.AttemptStatus{{Index: 1}}
	lost := metav1.NewTime(time.Unix(1000, 0))
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodUID: "pod", PodIP: "10.0.0.2", IsolationLossTime: &lost}
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
		"a hole": {func(*v1alpha1.MotorRun) {}, true},
		"the run waits for a person": {func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "q"})
		}, true},
		"the run is suspended": {func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }, true},
		"the run is set aside": {func(r *v1alpha1.MotorRun) { r.Status.Losses = &v1alpha1.LossStatus{Count: 4, SetAside: true} }, true},
		"another replica's":    {func(r *v1alpha1.MotorRun) { r.Status.Execution.Worker = "other" }, false},
		"it never had one":     {func(r *v1alpha1.MotorRun) { r.Status.Sandbox.IsolationLossTime = nil }, false},
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

// A loop that was started before the loss of isolation is ended for it. A loop that was started after it halts the sandbox itself; ending it
// again with each look would stop the run from continuing.
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
			loops: map[types.NamespacedName]*worker{key: {task: task, running: true, cancel: func() { stopped = true }}},
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
		Config: Config{Worker: "w"}, Now: time.Now, stopping: make(chan struct{}), loops: map[types.NamespacedName]*worker{},
		halts: map[types.NamespacedName]*halting{key: {task: taskOf(run), done: true}},
	}
	if _, waits := e.halt(run); waits {
		t.Error("the run waits for what was done")
	}
	again := metav1.NewTime(time.Unix(2000, 0))
	run.Status.Sandbox.IsolationLossTime = &again
	if _, waits := e.halt(run); !waits || e.halts[key].done {
		t.Error("another hole counts as the one before")
	}
}

// slowSteps are those of many sandboxes, in a slow store: every read waits until the test releases it.
type slowSteps struct {
	client.Reader
	looking, goOn chan struct{}
}

func (s slowSteps) List(context.Context, client.ObjectList, ...client.ListOption) error {
	s.looking <- struct{}{}
	<-s.goOn
	return errors.New("it is slow, and fails")
}

// A node that stops enforcing policies has many sandboxes at once. No more of them are halted at a time than there may be loops.
func TestHaltsHavePlaces(t *testing.T) {
	t.Parallel()
	const places, sandboxes = 2, 5
	store := slowSteps{looking: make(chan struct{}), goOn: make(chan struct{})}
	e := &Engine{
		Config: Config{Worker: "w", MaxLoops: places}, Now: func() time.Time { return time.Unix(1000, 0) }, heldUntil: time.Unix(2000, 0),
		Logger: slog.New(slog.DiscardHandler), Live: store, stopping: make(chan struct{}), loops: map[types.NamespacedName]*worker{},
		halts: map[types.NamespacedName]*halting{}, ended: make(chan event.TypedGenericEvent[*v1alpha1.MotorRun]),
	}
	var begun []*v1alpha1.MotorRun
	for i := range sandboxes {
		run := holed()
		run.Name = fmt.Sprint("run-", i)
		again, waits := e.halt(run)
		if !waits || again == 0 && len(begun) == places {
			t.Errorf("halt %d: again after %s, waits %t", i, again, waits)
		}
		if again == 0 {
			begun = append(begun, run)
		}
	}
	if len(begun) != places {
		t.Errorf("%d sandboxes are halted at once", len(begun))
	}
	for range begun {
		<-store.looking
	}
	close(store.goOn)
	for range begun {
		<-e.ended
	}
	last := holed()
	if again, waits := e.halt(last); again != 0 || !waits {
		t.Errorf("when there is room: again after %s, waits %t", again, waits)
	}
	<-store.looking
	<-e.ended
	e.wg.Wait()
	if e.halting != 0 {
		t.Errorf("%d places are taken", e.halting)
	}
}
