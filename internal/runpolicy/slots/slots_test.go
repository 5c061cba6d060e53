// SPDX-License-Identifier: Apache-2.0

package slots_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/slots"
)

func condition(run *v1alpha1.MotorRun, kind string, status metav1.ConditionStatus, reason string) {
	apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason})
}

// A run has a slot from its sandbox on, and has none while a person keeps it waiting.
func TestOf(t *testing.T) {
	t.Parallel()
	ask := v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion})
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   slots.State
	}{
		"it is carried on":   {func(*v1alpha1.MotorRun) {}, slots.Has},
		"it has no sandbox":  {func(r *v1alpha1.MotorRun) { r.Status.Sandbox = nil }, slots.Apart},
		"it is not accepted": {func(r *v1alpha1.MotorRun) { condition(r, v1alpha1.ConditionAccepted, "False", "Queued") }, slots.Apart},
		"it asks":            {func(r *v1alpha1.MotorRun) { r.Status.PendingInputs = ask }, slots.Apart},
		"it is answered": {func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs, r.Spec.Responses = ask, []v1alpha1.Response{{ID: "q", Answer: "a"}}
		}, slots.Has},
		"it is suspended":     {func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }, slots.Apart},
		"it is cancelled":     {func(r *v1alpha1.MotorRun) { r.Spec.Cancel = true }, slots.Apart},
		"it is ending":        {func(r *v1alpha1.MotorRun) { r.Status.Ending = &v1alpha1.RunEnding{} }, slots.Apart},
		"it has ended":        {func(r *v1alpha1.MotorRun) { condition(r, v1alpha1.ConditionFinished, "True", "Completed") }, slots.Apart},
		"it is being deleted": {func(r *v1alpha1.MotorRun) { r.DeletionTimestamp = new(metav1.Now()) }, slots.Apart},
		"it waits": {func(r *v1alpha1.MotorRun) {
			condition(r, v1alpha1.ConditionSandboxReady, "False", v1alpha1.ReasonSlotsTaken)
		}, slots.Waits},
		"its sandbox is not there": {func(r *v1alpha1.MotorRun) {
			condition(r, v1alpha1.ConditionSandboxReady, "False", v1alpha1.ReasonUnschedulable)
		}, slots.Has},
		"it waits and is suspended": {func(r *v1alpha1.MotorRun) {
			r.Spec.Suspend = true
			condition(r, v1alpha1.ConditionSandboxReady, "False", v1alpha1.ReasonSlotsTaken)
		}, slots.Apart},
	} {
		run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{Sandbox: &v1alpha1.SandboxStatus{}}}
		condition(run, v1alpha1.ConditionAccepted, "True", "Accepted")
		tt.change(run)
		if got := slots.Of(run); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// The oldest run of the namespace with the fewest slots is next, and each slot that is given counts for the next one.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		has           map[string]int
		waiting, want string
	}{
		"nothing waits":               {nil, "", ""},
		"by age":                      {nil, "a/3 a/1 a/2", "a/1 a/2 a/3"},
		"of one second by name":       {nil, "a/1y a/1x", "a/1x a/1y"},
		"namespaces take turns":       {nil, "a/1 a/2 a/3 b/4 b/5", "a/1 b/4 a/2 b/5 a/3"},
		"who has fewer comes first":   {map[string]int{"a": 2}, "a/1 a/2 b/7 b/8 b/9", "b/7 b/8 a/1 b/9 a/2"},
		"who has none that waits":     {map[string]int{"c": 1}, "a/2 b/1", "b/1 a/2"},
		"a namespace with many slots": {map[string]int{"a": 100, "b": 1}, "a/1 b/2 c/3", "c/3 b/2 a/1"},
	} {
		var waiting []slots.Run
		for word := range strings.FieldsSeq(tt.waiting) {
			namespace, name, _ := strings.Cut(word, "/")
			waiting = append(waiting, slots.Run{
				Key: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(word), Created: time.Unix(int64(name[0]), 0),
			})
		}
		var got []string
		for _, run := range slots.Order(tt.has, waiting) {
			got = append(got, string(run.UID))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	for position, want := range map[int]string{1: "number 1.", 10: "number 10.", 11: "among the first 20.", 20: "among the first 20.", 21: "among the first 30."} {
		if got := slots.Message(position, 8); !strings.Contains(got, "replicas, 8, are") || !strings.Contains(got, "the run is "+want) {
			t.Errorf("%d: %s", position, got)
		}
	}
}

// The worst queue is ordered in each pass of a run that waits.
func BenchmarkOrder(b *testing.B) {
	var waiting []slots.Run
	for i := range 10_000 {
		waiting = append(waiting, slots.Run{Key: types.NamespacedName{Namespace: fmt.Sprint(i % 100), Name: fmt.Sprint(i)}, Created: time.Unix(int64(i*7919%10_000), 0)})
	}
	for b.Loop() {
		slots.Order(nil, waiting)
	}
}
