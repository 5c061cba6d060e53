// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// narrowNamespace makes a namespace in which one run at a time is carried out.
func narrowNamespace(t *testing.T, whenBusy v1alpha1.WhenBusy) string {
	t.Helper()
	ns := newNamespace(t, "narrow")
	must(t, suite.client.Create(t.Context(), &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: v1alpha1.CortexName},
		Spec: v1alpha1.MotorCortexSpec{
			Models:      v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}},
			Concurrency: &v1alpha1.Concurrency{MaxActive: 1, WhenBusy: whenBusy},
		},
	}))
	return ns
}

func TestRunsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	ns := narrowNamespace(t, v1alpha1.BusyQueue)
	holder := awaitQuestion(t, startRun(t, "ask", inNamespace(ns)))
	older := startRun(t, "answer", inNamespace(ns))
	urgent := startRun(t, "ask", inNamespace(ns), func(r *v1alpha1.MotorRun) { r.Spec.Priority = 10 })
	leaver := startRun(t, "answer", inNamespace(ns))
	for _, run := range []*v1alpha1.MotorRun{older, urgent, leaver} {
		wantQueued(t, run)
	}
	// One that waits can leave.
	cancel(t, leaver)
	wantEnd(t, leaver, cancelWithin, v1alpha1.PhaseCancelled, v1alpha1.ReasonCancelled)

	respond(t, holder, holder.Status.Pending().ID, "red")
	wantCompleted(t, holder, soon)
	asked := awaitQuestion(t, urgent)
	wantQueued(t, older)
	respond(t, urgent, asked.Status.Pending().ID, "blue")
	wantCompleted(t, urgent, soon)
	done := wantCompleted(t, older, soon)
	if done.Status.Paused.StartTime != nil {
		t.Errorf("a run that has ended still waits for its turn: %+v", done.Status.Paused)
	}
}

func wantQueued(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	queued := awaitRun(t, run, soon, "the queue", func(r *v1alpha1.MotorRun) bool {
		return condition(r, v1alpha1.ConditionAccepted).Reason == v1alpha1.ReasonQueued
	})
	wantCondition(t, queued, v1alpha1.ConditionFinished, metav1.ConditionFalse, "")
	if found, err := exists(t.Context(), sandboxOf(run), &corev1.Pod{}); found || err != nil {
		t.Errorf("a run that waits for its turn has a sandbox (%t, %v)", found, err)
	}
}

func TestARunThatFindsNoPlaceIsRejected(t *testing.T) {
	t.Parallel()
	ns := narrowNamespace(t, v1alpha1.BusyReject)
	holder := awaitQuestion(t, startRun(t, "ask", inNamespace(ns)))
	object := "apiVersion: motorcortex.dev/v1alpha1\nkind: MotorRun\nmetadata: {name: second}\nspec: {task: say hello, tools: [bash]}\n"
	_, stderr, err := tryKubectl(t.Context(), object, "-n", ns, "apply", "-f", "-")
	if err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, stderr)
	}
	kubectl(t, "-n", ns, "wait", "--for=condition=Finished", "--timeout=240s", "motorrun/second")
	var rejected v1alpha1.MotorRun
	must(t, suite.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "second"}, &rejected))
	wantCondition(t, &rejected, v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonBusy)
	wantCondition(t, &rejected, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonBusy)
	if m := condition(&rejected, v1alpha1.ConditionAccepted).Message; !strings.Contains(m, holder.Name) {
		t.Errorf("the message does not say who has the place: %s", m)
	}
	respond(t, holder, holder.Status.Pending().ID, "red")
	wantCompleted(t, holder, soon)
	wantCompleted(t, startRun(t, "answer", inNamespace(ns)), soon)
}

// awaitGone waits until the run does not exist.
func awaitGone(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	key := client.ObjectKeyFromObject(run)
	err := await(t.Context(), soon, &v1alpha1.MotorRunList{}, one(key), func(ctx context.Context) (bool, error) {
		found, err := exists(ctx, key, &v1alpha1.MotorRun{})
		return !found, err
	})
	if err != nil {
		t.Fatalf("run %s is still there: %v", run.Name, err)
	}
}

// A cluster that is full is a queue: of runs that do not fit beside each other none fails.
// Nothing runs beside it that would be short of room.
func TestMoreRunsThanFit(t *testing.T) {
	ns := newNamespace(t, "full")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}))
	var node corev1.NodeList
	must(t, suite.client.List(t.Context(), &node))
	// Each asks for a third of the processors of the first node: a sandbox requests a tenth of its limit.
	cpu := node.Items[0].Status.Allocatable.Cpu().MilliValue() * 10 / 3
	var waiting []*v1alpha1.MotorRun
	for range 6 {
		waiting = append(waiting, startRun(t, "answer", inNamespace(ns), func(r *v1alpha1.MotorRun) {
			r.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: v1alpha1.SandboxResources{CPU: resource.NewMilliQuantity(cpu, resource.DecimalSI)}}
		}))
	}
	queued := int64(0)
	for _, run := range waiting {
		queued += wantCompleted(t, run, 2*soon).Status.Paused.DurationSeconds
	}
	if queued == 0 && len(node.Items) == 1 {
		t.Error("no run waited for room")
	}
}
