// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
)

// stubReader decides the result of every list, which is the first request of a loop.
type stubReader struct {
	client.Reader
	list func(ctx context.Context) error
}

func (r stubReader) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	return r.list(ctx)
}

// testEngine has a journal that answers as list does. The queue of its events fits all of a test.
func testEngine(t *testing.T, maxLoops int, log io.Writer, list func(context.Context) error) *Engine {
	e := &Engine{
		Live: stubReader{list: list}, Now: time.Now, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Config: Config{MaxLoops: maxLoops}, loops: map[types.NamespacedName]*worker{},
		ended: make(chan event.TypedGenericEvent[*v1alpha1.MotorRun], 100), stopping: make(chan struct{}),
	}
	e.hold(time.Now().Add(time.Hour))
	t.Cleanup(func() {
		e.mu.Lock()
		if !e.isStopping() {
			close(e.stopping)
		}
		for _, l := range e.loops {
			l.cancel()
		}
		e.mu.Unlock()
		e.wg.Wait()
	})
	return e
}

func testRun(namespace, name string) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{}
	run.Namespace, run.Name, run.UID = namespace, name, types.UID(namespace+name)
	return run
}

// ready returns a run that the worker "w" has work for.
func ready() *v1alpha1.MotorRun {
	run := testRun("ns", "run")
	run.Status.Execution.Worker, run.Status.Attempts = "w", []v1alpha1.AttemptStatus{{Index: 1}}
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodUID: "pod", PodIP: "10.0.0.2"}
	apimeta.SetStatusCondition(&run.Status.Conditions,
		metav1.Condition{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionTrue, Reason: "SandboxReady"})
	return run
}

// Runs that are there when a replica begins have a low priority in their first pass. On a busy replica their timers would wait for all others.
func TestTimersHaveThePriorityOfAllOthers(t *testing.T) {
	t.Parallel()
	asks := ready()
	asks.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{
		ID: "id", Kind: v1alpha1.InputApproval, OnTimeout: v1alpha1.OnTimeoutDeny, ExpirationTime: metav1.NewTime(time.Now().Add(time.Hour)),
	})
	for name, tt := range map[string]struct {
		run    *v1alpha1.MotorRun
		worker *worker
	}{
		"waits for an approval":    {asks, nil},
		"waits for its next start": {ready(), &worker{task: taskOf(ready()), retryAt: time.Now().Add(time.Hour)}},
	} {
		e := testEngine(t, 0, io.Discard, nil)
		e.Config.Worker = "w"
		e.Client = fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(tt.run).Build()
		if tt.worker != nil {
			tt.worker.cancel = func() {}
			e.loops[client.ObjectKeyFromObject(tt.run)] = tt.worker
		}
		res, err := e.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(tt.run)})
		if err != nil || res.RequeueAfter <= 0 || res.Priority == nil || *res.Priority != 0 {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

// A run that is resumed waits until its status has the time of that: the time of the suspension is not time without the model.
func TestAResumedRunWaitsForItsStatus(t *testing.T) {
	t.Parallel()
	e := &Engine{Config: Config{Worker: "w"}, Now: time.Now}
	for _, tt := range []struct {
		name      string
		spec      bool
		condition metav1.ConditionStatus
		want      bool
	}{
		{"never suspended", false, "", true},
		{"about to be suspended", true, "", false},
		{"suspended", true, metav1.ConditionTrue, false},
		{"resumed, and the status does not say so yet", false, metav1.ConditionTrue, false},
		{"resumed", false, metav1.ConditionFalse, true},
	} {
		run := ready()
		run.Spec.Suspend = tt.spec
		if tt.condition != "" {
			apimeta.SetStatusCondition(&run.Status.Conditions,
				metav1.Condition{Type: v1alpha1.ConditionSuspended, Status: tt.condition, Reason: v1alpha1.ReasonSuspended})
		}
		if got := e.shouldRun(run); got != tt.want {
			t.Errorf("%s: the loop runs: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// A run with a way out has none that is good while it waits, so it goes on when its controller has seen the answer. Any other run goes on at once.
func TestAnAnsweredRunWaitsForItsWayOut(t *testing.T) {
	t.Parallel()
	e := &Engine{Config: Config{Worker: "w"}, Now: time.Now}
	for name, tt := range map[string]struct {
		egress *v1alpha1.EgressStatus
		seen   bool
		want   bool
	}{
		"nothing to reach":         {nil, false, true},
		"a way out, answer unseen": {&v1alpha1.EgressStatus{Attempt: 1}, false, false},
		"a way out, answer seen":   {&v1alpha1.EgressStatus{Attempt: 1}, true, true},
	} {
		run := ready()
		run.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "this one"}}
		run.Status.Egress = tt.egress
		run.Status.PendingInputs = []v1alpha1.PendingInput{{ID: "q", Kind: v1alpha1.InputQuestion, Answered: tt.seen}}
		if got := e.shouldRun(run); got != tt.want {
			t.Errorf("%s: the loop runs: %t", name, got)
		}
	}
}

// A run that may have ended its workers begins no loop except in its trial, not even for the last look at its sandbox.
func TestAHeldRunBeginsNoLoop(t *testing.T) {
	t.Parallel()
	e := &Engine{Config: Config{Worker: "w"}, Now: time.Now}
	for name, tt := range map[string]struct {
		losses *v1alpha1.LossStatus
		want   bool
	}{
		"no losses":    {nil, true},
		"one loss":     {&v1alpha1.LossStatus{Count: 1}, true},
		"a suspect":    {&v1alpha1.LossStatus{Count: 2}, false},
		"on trial":     {&v1alpha1.LossStatus{Count: 2, AloneEpoch: 7}, true},
		"set aside":    {&v1alpha1.LossStatus{Count: 4, SetAside: true}, false},
		"moved on":     {&v1alpha1.LossStatus{Count: 2, AloneEpoch: 6}, false},
		"after trials": {&v1alpha1.LossStatus{Count: 1, Trials: 2}, true},
	} {
		run := ready()
		run.Status.Execution.Epoch, run.Status.Losses = 7, tt.losses
		if got := e.shouldRun(run); got != tt.want {
			t.Errorf("%s: the loop runs: %t", name, got)
		}
		run.Status.Ending = &v1alpha1.RunEnding{DecisionTime: metav1.Now(), Reason: v1alpha1.ReasonCompleted}
		if got := e.shouldRun(run); got != tt.want {
			t.Errorf("%s: the last look is taken: %t", name, got)
		}
	}
}

// A run that has ended gets its last look, whatever it waited for, and uses the slot of no other loop.
func TestARunThatEndsIsLookedAtAtOnce(t *testing.T) {
	t.Parallel()
	run := ready()
	run.Status.Ending = &v1alpha1.RunEnding{DecisionTime: metav1.Now(), Reason: v1alpha1.ReasonCancelled}
	run.Spec.Cancel, run.Spec.Suspend = true, true
	apimeta.SetStatusCondition(&run.Status.Conditions,
		metav1.Condition{Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSuspended})
	if e := (&Engine{Config: Config{Worker: "w"}, Now: time.Now}); !e.shouldRun(run) {
		t.Error("a suspended run that is cancelled is not looked at")
	}
	e := testEngine(t, 2, io.Discard, hang)
	for i := range 4 {
		e.ensure(testRun("a", fmt.Sprint(i)))
	}
	for i := range 3 {
		ending := testRun("a", fmt.Sprint("ending", i))
		ending.Status.Ending = run.Status.Ending
		e.ensure(ending)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running != 2 || e.looking != 2 || len(e.queue) != 3 {
		t.Errorf("%d loops run, %d runs are looked at, %d wait", e.running, e.looking, len(e.queue))
	}
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestNamespacesShareTheLoops(t *testing.T) {
	t.Parallel()
	e := testEngine(t, 4, io.Discard, hang)
	running := func(run *v1alpha1.MotorRun) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		l := e.loops[client.ObjectKeyFromObject(run)]
		return l != nil && l.running
	}
	runs := 0
	for i := range 5 {
		run := testRun("a", fmt.Sprint(i))
		if e.ensure(run); running(run) {
			runs++
		}
	}
	if runs != 3 {
		t.Fatalf("%d loops of one namespace run", runs)
	}
	if got, want := e.Slots(), (Slots{Running: 3, Waiting: 2}); got != want {
		t.Errorf("the slots are %+v, want %+v", got, want)
	}
	// A namespace without a loop does not wait for the calls and models of one that came first.
	if first := testRun("b", "0"); e.ensure(first).RequeueAfter > 0 || !running(first) {
		t.Fatal("the first run of another namespace waits")
	}
	for _, run := range []*v1alpha1.MotorRun{testRun("b", "1"), testRun("c", "0")} {
		if e.ensure(run); running(run) {
			t.Fatalf("%s runs: more loops than may", run.UID)
		}
	}
	// lookAt ends a loop. The waiting runs are reconciled in their order.
	lookAt := func(end string, want ...string) {
		t.Helper()
		e.stop(client.ObjectKey{Namespace: end[:1], Name: end[1:]})
		for i := range len(want) / 2 {
			got := (<-e.ended).Object
			if string(got.UID) != want[2*i] {
				t.Fatalf("%s is looked at, want %s", got.UID, want[2*i])
			}
			res := e.ensure(got)
			if how := fmt.Sprint(running(got), " ", res.RequeueAfter > 0); how != want[2*i+1] {
				t.Errorf("%s runs and is looked at again: %s, want %s", got.UID, how, want[2*i+1])
			}
		}
	}
	// Three loops are left, and the fourth is for a namespace without one.
	lookAt("a0", "a3", "false false", "a4", "false false", "b1", "false false", "c0", "true false")
	// The next one that ends makes room for no second loop, as long as all four run or are for others.
	lookAt("a1", "a3", "false false", "a4", "false false", "b1", "false false")
	lookAt("c0", "a3", "true false", "a4", "false false", "b1", "false false")
	// A namespace that has its half gets no more while others wait.
	lookAt("b0", "a4", "false true", "b1", "true false")
	// No other run waits any more: the next end frees a slot for any.
	lookAt("a2", "a4", "true false")
	// A waiting run that is deleted frees no slot.
	last := testRun("a", "5")
	e.ensure(last)
	e.stop(client.ObjectKeyFromObject(last))
	if len(e.queue) != 0 || running(last) {
		t.Errorf("%d still wait", len(e.queue))
	}
}

func TestAPanicEndsNothingButItsLoop(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	e := testEngine(t, 1, &log, func(context.Context) error { panic("out of order") })
	run := testRun("ns", "run")
	e.ensure(run)
	<-e.ended
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.loops[client.ObjectKeyFromObject(run)]
	if l.running || l.over || l.memory.Panics != 1 || l.memory.Failures != 1 || e.running != 0 {
		t.Errorf("the loop is %+v, %d run", l, e.running)
	}
	if n := strings.Count(log.String(), "out of order"); n != 1 || !strings.Contains(log.String(), "engine_test.go") {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

// A cancelled loop does not continue under any circumstances, and the next one waits for its end.
func TestOneLoopForARun(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	release := make(chan struct{})
	e := testEngine(t, 0, io.Discard, func(ctx context.Context) error {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		<-ctx.Done()
		<-release
		return ctx.Err()
	})
	run := testRun("ns", "run")
	loop := func() *worker {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.loops[client.ObjectKeyFromObject(run)]
	}
	e.ensure(run)
	first := loop()
	steps := map[string]func(){
		"stopped and wanted again": func() { e.stop(client.ObjectKeyFromObject(run)); e.ensure(run) },
		"another epoch":            func() { run = run.DeepCopy(); run.Status.Execution.Epoch++; e.ensure(run) },
		"another attempt": func() {
			run = run.DeepCopy()
			run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}}
			e.ensure(run)
		},
		"another sandbox": func() {
			run = run.DeepCopy()
			run.Status.Sandbox = &v1alpha1.SandboxStatus{PodUID: "another"}
			e.ensure(run)
		},
	}
	for name, step := range steps {
		step()
		if loop() != first {
			t.Fatalf("%s: a second loop was started while the first one was ending", name)
		}
		release <- struct{}{}
		if got := (<-e.ended).Object; got.UID != run.UID {
			t.Fatalf("%s: %s is looked at", name, got.UID)
		}
		e.ensure(run)
		second := loop()
		if second == first || !second.running {
			t.Fatalf("%s: the loop is %+v", name, second)
		}
		first = second
	}
	close(release)
	if most.Load() > 1 {
		t.Errorf("%d loops of one run at a time", most.Load())
	}
}
