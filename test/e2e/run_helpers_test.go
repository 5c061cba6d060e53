// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// soon is enough for what takes a few seconds on an idle machine.
const soon = 4 * time.Minute

var runs atomic.Int32

// newRun describes a run that plays a script, in one attempt. Its task is like no other, so that the faults of the script
// are counted for it alone.
func newRun(script string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	name := fmt.Sprintf("%s-%d", script, runs.Add(1))
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: suite.namespace, Name: name},
		Spec: v1alpha1.MotorRunSpec{
			Task:  "Play your part as " + name + ".",
			Tools: []v1alpha1.ToolName{"bash", "code", "read", "write", "list"},
			Model: &v1alpha1.RunModel{Name: "scripted/" + script},
			// A run that fails is to end, and not to wait for somebody who has it try again.
			MaxAttempts: 1,
		},
	}
	for _, c := range change {
		c(run)
	}
	return run
}

func startRun(t *testing.T, script string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	t.Helper()
	run := newRun(script, change...)
	must(t, suite.client.Create(t.Context(), run))
	watchOver(t, run)
	return run
}

// watchOver has the run told of if the test fails, and ended when the test does.
func watchOver(t *testing.T, run *v1alpha1.MotorRun) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
		defer cancel()
		if t.Failed() {
			t.Log(story(ctx, run))
		}
		var now v1alpha1.MotorRun
		if found, err := exists(ctx, client.ObjectKeyFromObject(run), &now); err != nil || !found || isTrue(&now, v1alpha1.ConditionFinished) {
			return
		}
		if err := suite.client.Delete(ctx, &now); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete the run: %v", err)
		}
	})
}

func inNamespace(ns string) func(*v1alpha1.MotorRun) {
	return func(r *v1alpha1.MotorRun) { r.Namespace = ns }
}

func withLimits(l v1alpha1.RunLimits) func(*v1alpha1.MotorRun) {
	return func(r *v1alpha1.MotorRun) { r.Spec.Limits = l }
}

func condition(run *v1alpha1.MotorRun, conditionType string) metav1.Condition {
	if c := apimeta.FindStatusCondition(run.Status.Conditions, conditionType); c != nil {
		return *c
	}
	return metav1.Condition{Type: conditionType, Status: "absent"}
}

func isTrue(run *v1alpha1.MotorRun, conditionType string) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, conditionType)
}

// wantCondition fails unless the condition is as described; reason "" is any.
func wantCondition(t *testing.T, run *v1alpha1.MotorRun, conditionType string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	c := condition(run, conditionType)
	if c.Status != status || (reason != "" && c.Reason != reason) {
		t.Errorf("condition %s is %s (%s: %s), want %s (%s)", conditionType, c.Status, c.Reason, c.Message, status, reason)
	}
}

// awaitRun waits until the run is as ok wants it.
func awaitRun(t *testing.T, run *v1alpha1.MotorRun, within time.Duration, what string, ok func(*v1alpha1.MotorRun) bool) *v1alpha1.MotorRun {
	t.Helper()
	key := client.ObjectKeyFromObject(run)
	var now v1alpha1.MotorRun
	err := await(t.Context(), within, &v1alpha1.MotorRunList{}, one(key), func(ctx context.Context) (bool, error) {
		now = v1alpha1.MotorRun{}
		if err := suite.client.Get(ctx, key, &now); err != nil {
			return false, err
		}
		return now.UID == run.UID && ok(&now), nil
	})
	if err != nil {
		t.Fatalf("run %s does not come to: %s: %v", run.Name, what, err)
	}
	return &now
}

// awaitEnd waits until the run has ended, whichever way.
func awaitEnd(t *testing.T, run *v1alpha1.MotorRun, within time.Duration) *v1alpha1.MotorRun {
	t.Helper()
	ended := awaitRun(t, run, within, "its end", func(r *v1alpha1.MotorRun) bool { return isTrue(r, v1alpha1.ConditionFinished) })
	rememberEnd(ended)
	return ended
}

// wantCompleted waits until the run has ended and fails unless it succeeded.
func wantCompleted(t *testing.T, run *v1alpha1.MotorRun, within time.Duration) *v1alpha1.MotorRun {
	t.Helper()
	return wantEnd(t, run, within, v1alpha1.PhaseCompleted, v1alpha1.ReasonCompleted)
}

// wantEnd waits until the run has ended and fails unless it did so in that way.
func wantEnd(t *testing.T, run *v1alpha1.MotorRun, within time.Duration, phase v1alpha1.RunPhase, reason string) *v1alpha1.MotorRun {
	t.Helper()
	ended := awaitEnd(t, run, within)
	succeeded := metav1.ConditionFalse
	if phase == v1alpha1.PhaseCompleted {
		succeeded = metav1.ConditionTrue
	}
	wantCondition(t, ended, v1alpha1.ConditionSucceeded, succeeded, reason)
	wantCondition(t, ended, v1alpha1.ConditionFinished, metav1.ConditionTrue, reason)
	if ended.Status.Phase != phase || ended.Status.Result == nil || ended.Status.Result.OK != (phase == v1alpha1.PhaseCompleted) {
		t.Errorf("the run ended as %s with the result %+v, want %s", ended.Status.Phase, ended.Status.Result, phase)
	}
	if t.Failed() {
		t.FailNow()
	}
	return ended
}

// awaitQuestion waits until the run asks something that has no answer yet.
func awaitQuestion(t *testing.T, run *v1alpha1.MotorRun) *v1alpha1.MotorRun {
	t.Helper()
	return awaitRun(t, run, soon, "a question", func(r *v1alpha1.MotorRun) bool {
		return r.Status.Pending() != nil && isTrue(r, v1alpha1.ConditionAwaitingInput)
	})
}

// awaitCommand waits until the command runs that makes the file "started" in the workspace.
func awaitCommand(t *testing.T, run *v1alpha1.MotorRun) *v1alpha1.MotorRun {
	t.Helper()
	now := awaitRun(t, run, soon, "a running sandbox", func(r *v1alpha1.MotorRun) bool { return isTrue(r, v1alpha1.ConditionSandboxReady) })
	inSandbox(t, now, "until [ -e /workspace/started ]; do sleep 0.05; done")
	return now
}

func patch(t *testing.T, run *v1alpha1.MotorRun, kind types.PatchType, text string) {
	t.Helper()
	must(t, suite.client.Patch(t.Context(), run.DeepCopy(), client.RawPatch(kind, []byte(text))))
}

func respond(t *testing.T, run *v1alpha1.MotorRun, id, answer string) {
	t.Helper()
	patch(t, run, types.JSONPatchType, respondPatch(t, id, answer))
}

// respondPatch is the JSON patch that docs tell people to answer with.
func respondPatch(t *testing.T, id, answer string) string {
	t.Helper()
	value, err := json.Marshal(map[string]string{"id": id, "answer": answer})
	must(t, err)
	return fmt.Sprintf(`[{"op":"add","path":"/spec/responses/-","value":%s}]`, value)
}

func cancel(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	patch(t, run, types.MergePatchType, `{"spec":{"cancel":true}}`)
}

// steps returns the steps of a run of that name, in order.
func steps(ctx context.Context, run *v1alpha1.MotorRun) ([]v1alpha1.MotorStep, error) {
	var list v1alpha1.MotorStepList
	err := suite.client.List(ctx, &list, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name})
	slices.SortFunc(list.Items, func(a, b v1alpha1.MotorStep) int {
		return cmp.Or(cmp.Compare(a.Spec.Attempt, b.Spec.Attempt), cmp.Compare(a.Spec.Index, b.Spec.Index))
	})
	return list.Items, err
}

// wantWholeJournal fails unless the steps of every attempt have no gap and every call of them has its result, but for
// the call in which an attempt was broken off. It gives the steps.
func wantWholeJournal(t *testing.T, run *v1alpha1.MotorRun) []v1alpha1.MotorStep {
	t.Helper()
	list, err := steps(t.Context(), run)
	must(t, err)
	// Outages of the model have no index of their own.
	list = slices.DeleteFunc(list, func(s v1alpha1.MotorStep) bool { return s.Spec.Type == v1alpha1.StepOutage })
	var epoch int64
	index := map[int32]int32{}
	for i := range list {
		s := &list[i]
		index[s.Spec.Attempt]++
		if want := fmt.Sprintf("%s-a%02d-s%04d", run.Name, s.Spec.Attempt, index[s.Spec.Attempt]); s.Name != want {
			t.Fatalf("step %d is %s, want %s", i+1, s.Name, want)
		}
		if s.Spec.Epoch < epoch {
			t.Errorf("step %s has the epoch %d after %d", s.Name, s.Spec.Epoch, epoch)
		}
		epoch = s.Spec.Epoch
		settled := s.Status.Phase == v1alpha1.StepSettled && len(s.Status.Results) == len(s.Spec.ToolCalls)
		if len(s.Spec.ToolCalls) > 0 && !settled && !brokenOff(run, list[i:]) {
			t.Errorf("step %s is %q with %d results of %d calls", s.Name, s.Status.Phase, len(s.Status.Results), len(s.Spec.ToolCalls))
		}
	}
	return list
}

// answersIn counts the answers of the model in a journal. The end of an attempt is a step of its own, and so are its checks.
func answersIn(journal []v1alpha1.MotorStep) (answers int) {
	for _, s := range journal {
		if s.Spec.Type == v1alpha1.StepTurn && !s.Spec.Checks && (len(s.Spec.ToolCalls) > 0 || !s.Spec.Final) {
			answers++
		}
	}
	return answers
}

// brokenOff reports whether the first of these steps is the last turn of an attempt that did not succeed.
func brokenOff(run *v1alpha1.MotorRun, rest []v1alpha1.MotorStep) bool {
	attempt := rest[0].Spec.Attempt
	for _, s := range rest[1:] {
		if s.Spec.Attempt == attempt && s.Spec.Type == v1alpha1.StepTurn {
			return false
		}
	}
	last := attempt == run.Status.Attempts[len(run.Status.Attempts)-1].Index
	return !last || run.Status.Phase != v1alpha1.PhaseCompleted
}

// podIsGone waits until the run's sandbox Pod does not exist.
func podIsGone(t *testing.T, run *v1alpha1.MotorRun, within time.Duration) {
	t.Helper()
	key := sandboxOf(run)
	err := await(t.Context(), within, &corev1.PodList{}, one(key), func(ctx context.Context) (bool, error) {
		found, err := exists(ctx, key, &corev1.Pod{})
		return !found, err
	})
	if err != nil {
		t.Fatalf("Pod %s is still there: %v", key.Name, err)
	}
}

// sandboxOf names the sandbox Pod of the run as it was read, that of the first attempt if it has none yet.
func sandboxOf(run *v1alpha1.MotorRun) types.NamespacedName {
	name := run.Name + "-motor-sandbox"
	if sb := run.Status.Sandbox; sb != nil {
		name = sb.PodName
	}
	return types.NamespacedName{Namespace: run.Namespace, Name: name}
}

// wantEvent waits for an Event of the run.
func wantEvent(t *testing.T, run *v1alpha1.MotorRun, reason, text string) {
	t.Helper()
	err := await(t.Context(), soon, &corev1.EventList{}, []client.ListOption{client.InNamespace(run.Namespace)}, func(ctx context.Context) (bool, error) {
		var list corev1.EventList
		if err := suite.client.List(ctx, &list, client.InNamespace(run.Namespace)); err != nil {
			return false, err
		}
		return slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.UID == run.UID && e.Reason == reason && strings.Contains(e.Message, text)
		}), nil
	})
	if err != nil {
		t.Errorf("no event %s that says %q: %v", reason, text, err)
	}
}

// attemptAt returns the attempt of the run with that number. That it is missing fails the test, and ends no other one.
func attemptAt(t *testing.T, run *v1alpha1.MotorRun, number int32) v1alpha1.AttemptStatus {
	t.Helper()
	a := run.Status.AttemptNumber(number)
	if a == nil {
		t.Fatalf("the run has no attempt %d: %+v", number, run.Status)
	}
	return *a
}

// failureAt returns how the attempt of the run with that number failed.
func failureAt(t *testing.T, run *v1alpha1.MotorRun, number int32) *v1alpha1.FailureSummary {
	t.Helper()
	f := attemptAt(t, run, number).Failure
	if f == nil {
		t.Fatalf("attempt %d did not fail: %+v", number, run.Status)
	}
	return f
}
