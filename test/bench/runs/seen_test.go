// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestMoments(t *testing.T) {
	ready := metav1.Condition{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionTrue}
	finished := metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}
	ofRun := metav1.ObjectMeta{Name: "x", Labels: map[string]string{v1alpha1.LabelRun: "r"}, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, v1alpha1.GroupVersion.WithKind("MotorRun")),
	}}
	step := func(index int32, results ...v1alpha1.ToolResult) *v1alpha1.MotorStep {
		return &v1alpha1.MotorStep{ObjectMeta: ofRun, Spec: v1alpha1.MotorStepSpec{Index: index}, Status: v1alpha1.MotorStepStatus{Results: results}}
	}
	for name, tt := range map[string]struct {
		o     client.Object
		about string
		want  []Moment
	}{
		"a new Pod": {&corev1.Pod{ObjectMeta: ofRun}, "r", []Moment{PodCreated}},
		"a plain Pod that is ready": {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}}, "p", []Moment{PodCreated, PodScheduled, PodRunning, PodReady}},
		"a new run":         {&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, "r", nil},
		"a run with all":    {&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Status: v1alpha1.MotorRunStatus{Conditions: []metav1.Condition{ready, finished}, PendingInputs: []v1alpha1.PendingInput{{ID: "a"}}}}, "r", []Moment{SandboxReady, Asked, Finished}},
		"a step":            {step(1), "r", []Moment{StepRecorded}},
		"a step's result":   {step(1, v1alpha1.ToolResult{}), "r", []Moment{StepRecorded, FirstResult}},
		"the second step":   {step(2, v1alpha1.ToolResult{}), "r", []Moment{NextStep}},
		"a later step":      {step(3), "r", nil},
		"the last of many":  {step(manySteps, v1alpha1.ToolResult{}), "r", []Moment{LastResult}},
		"one that begins":   {step(manySteps), "r", nil},
		"an object of else": {&corev1.ConfigMap{}, "", nil},
	} {
		if about, got := moments(tt.o); about != tt.about || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q %v", name, about, got)
		}
	}
}

func TestSeen(t *testing.T) {
	s, first := newSeen(), time.Unix(1, 0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	s.see(pod, first)
	s.see(pod, first.Add(time.Second))
	at, err := s.await(t.Context(), "p", PodCreated)
	if err != nil || !at[PodCreated].Equal(first) {
		t.Errorf("%v, %v", at, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.await(over, "p", PodReady); err == nil {
		t.Error("a moment that did not come was seen")
	}
	s.see(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Status: v1alpha1.MotorRunStatus{Message: "No model.", Result: &v1alpha1.RunResult{}}}, first)
	if _, err := s.await(t.Context(), "r", FirstResult); err == nil || !strings.Contains(err.Error(), "run r failed: No model.") {
		t.Errorf("a run that failed: %v", err)
	}
	s.forget("p")
	if run, steps := s.run("p"); run != nil || len(steps) > 0 {
		t.Error("something is left")
	}
}

// When hundreds of runs are created at once, the API server ends a watch that does not keep up.
func TestAWatchThatBreaksOffIsContinuedWhereItWas(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var versions []string
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Watch: func(_ context.Context, _ client.WithWatch, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			all := (&client.ListOptions{}).ApplyOptions(opts)
			versions = append(versions, all.Raw.ResourceVersion)
			w := watch.NewFakeWithChanSize(1, false)
			switch len(versions) {
			case 1:
				w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "7"}})
				w.Stop()
			case 2:
				w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "8"}})
			}
			return w, nil
		},
	})
	s, started, ended := newSeen(), 0, make(chan error, 1)
	go func() { ended <- s.follow(ctx, c, "ns", &corev1.PodList{}, func() { started++ }) }()
	within, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	for _, name := range []string{"a", "b"} {
		if _, err := s.await(within, name, PodCreated); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil || started != 1 || !slices.Equal(versions, []string{"", "7"}) {
		t.Errorf("started %d times, from the versions %q: %v", started, versions, err)
	}
}

func TestAWatchFromALostVersionIsAnError(t *testing.T) {
	t.Parallel()
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			w := watch.NewFakeWithChanSize(1, false)
			w.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old resource version"})
			return w, nil
		},
	})
	err := newSeen().follow(t.Context(), c, "ns", &corev1.PodList{}, func() {})
	if err == nil || !strings.Contains(err.Error(), "too old resource version") {
		t.Errorf("%v", err)
	}
}
