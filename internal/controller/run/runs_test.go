// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"slices"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// The baseline closes all sandboxes of its namespace. With the label of a run that somebody gave it, its deletion would be shown to that run alone.
func TestClosedRuns(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, name := range []string{"a", "b"} {
		objects = append(objects, &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}})
	}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
	for name, tt := range map[string]struct {
		policy, label string
		want          []string
	}{
		"the baseline":               {sandbox.BaselineName, "", []string{"a", "b"}},
		"the baseline with a label":  {sandbox.BaselineName, "x", []string{"a", "b"}},
		"the policy of a run":        {"a-egress", "a", []string{"a"}},
		"another one of the manager": {"more", "", []string{"a", "b"}},
	} {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: tt.policy}}
		if tt.label != "" {
			policy.Labels = map[string]string{v1alpha1.LabelRun: tt.label}
		}
		var got []string
		for _, request := range r.closedRuns(t.Context(), policy) {
			got = append(got, request.Name)
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// noted is a queue that notes what it gets.
type noted struct {
	requests
	now, later []string
}

func (n *noted) Add(r reconcile.Request) { n.now = append(n.now, r.String()) }

func (n *noted) AddAfter(r reconcile.Request, after time.Duration) {
	if after > 0 && after <= time.Second {
		n.later = append(n.later, r.String())
	}
}

// A step that decides nothing waits, so that a run of many steps does not cost its controller two passes for each. All others do not.
func TestStepEvents(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	bash := []v1alpha1.ToolCall{{ID: "c0", Tool: "bash"}}
	for name, tt := range map[string]struct {
		step  func(*v1alpha1.MotorStep)
		run   func(*v1alpha1.MotorRun)
		waits bool
	}{
		"a call that begins": {waits: true},
		"a call with a result": {step: func(s *v1alpha1.MotorStep) {
			s.Status.Phase, s.Status.Results = v1alpha1.StepSettled, []v1alpha1.ToolResult{{}}
		}, waits: true},
		"the first step":  {step: func(s *v1alpha1.MotorStep) { s.Spec.Index = 1 }, waits: true},
		"the last answer": {step: func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.ToolCalls = true, nil }},
		"no call":         {step: func(s *v1alpha1.MotorStep) { s.Spec.ToolCalls = nil }},
		"an outcome":      {step: func(s *v1alpha1.MotorStep) { s.Spec.Type = v1alpha1.StepEnd }},
		"an outage":       {step: func(s *v1alpha1.MotorStep) { s.Spec.Type = v1alpha1.StepOutage }},
		"a question":      {step: func(s *v1alpha1.MotorStep) { s.Spec.ToolCalls[0].Tool = "ask_user" }},
		"one call of two ends": {step: func(s *v1alpha1.MotorStep) {
			s.Spec.ToolCalls = append(s.Spec.ToolCalls, v1alpha1.ToolCall{ID: "c1", Tool: "finish"})
		}},
		"an approval of a call": {step: func(s *v1alpha1.MotorStep) { s.Status.Asks = []v1alpha1.StepAsk{{ID: "a"}} }},
		"an unknown outcome":    {step: func(s *v1alpha1.MotorStep) { s.Status.Unknown = []v1alpha1.UnknownExecution{{CallID: "c0"}} }},
		"a closed one":          {step: func(s *v1alpha1.MotorStep) { s.Status.Closed = &v1alpha1.StepClosing{} }},
		"skills":                {step: func(s *v1alpha1.MotorStep) { s.Status.Skills = &v1alpha1.SkillsResult{} }},
		"another phase":         {step: func(s *v1alpha1.MotorStep) { s.Status.Phase = v1alpha1.StepOutcomeUnknown }},
		"a suspended run":       {run: func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }},
		"a cancelled run":       {run: func(r *v1alpha1.MotorRun) { r.Spec.Cancel = true }},
		"a run that ends":       {run: func(r *v1alpha1.MotorRun) { r.Status.Ending = &v1alpha1.RunEnding{} }},
		"a run that waits":      {run: func(r *v1alpha1.MotorRun) { r.Status.PendingInputs = []v1alpha1.PendingInput{{ID: "a"}} }},
		"a domain for one call": {run: func(r *v1alpha1.MotorRun) {
			r.Spec.Responses = []v1alpha1.Response{{ID: "a", Decision: v1alpha1.DecisionAllowOnce}}
		}},
		"a run that is carried on alone": {run: func(r *v1alpha1.MotorRun) {
			r.Status.Execution.Epoch, r.Status.Losses = 1, &v1alpha1.LossStatus{AloneEpoch: 1}
		}},
		"a model that was away": {run: func(r *v1alpha1.MotorRun) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionModelAvailable, Status: metav1.ConditionFalse}}
		}},
		"a model that answers, and a closed sandbox": {run: func(r *v1alpha1.MotorRun) {
			r.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionModelAvailable, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionIsolationVerified, Status: metav1.ConditionTrue},
			}
		}, waits: true},
		"a sandbox that was open": {run: func(r *v1alpha1.MotorRun) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionIsolationVerified, Status: metav1.ConditionFalse}}
		}},
		"a run that is not known": {run: func(r *v1alpha1.MotorRun) { r.Name = "other" }},
	} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "1"}}
		step := &v1alpha1.MotorStep{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun")),
			}},
			Spec:   v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Index: 2, ToolCalls: append([]v1alpha1.ToolCall{}, bash...)},
			Status: v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight},
		}
		if tt.step != nil {
			tt.step(step)
		}
		if tt.run != nil {
			tt.run(run)
		}
		r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(run).Build(), Config: Config{ShowPause: time.Second}}
		q := &noted{}
		r.stepEvents().Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: step, ObjectNew: step}, q)
		if len(q.now)+len(q.later) != 1 || (len(q.later) == 1) != tt.waits {
			t.Errorf("%s: at once %v, later %v", name, q.now, q.later)
		}
	}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
	q := &noted{}
	owned := &v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "run"}}, v1alpha1.GroupVersion.WithKind("MotorRun")),
	}}}
	r.stepEvents().Update(t.Context(), event.TypedUpdateEvent[client.Object]{ObjectOld: owned, ObjectNew: &v1alpha1.MotorStep{}}, q)
	if len(q.now) != 1 {
		t.Errorf("a step that was taken from its run: %v %v", q.now, q.later)
	}
	q = &noted{}
	r.stepEvents().Delete(t.Context(), event.TypedDeleteEvent[client.Object]{Object: &v1alpha1.MotorStep{}}, q)
	r.stepEvents().Create(t.Context(), event.TypedCreateEvent[client.Object]{Object: &v1alpha1.MotorStep{}}, q)
	if len(q.now)+len(q.later) > 0 {
		t.Errorf("a step of no run: %v %v", q.now, q.later)
	}
}

func TestANewLeaderLooksAtTheRunsFirstThatHaveNotEnded(t *testing.T) {
	t.Parallel()
	q := priorityqueue.New[reconcile.Request]("runs")
	defer q.ShutDown()
	listed := func(name string, finished bool) event.CreateEvent {
		return event.CreateEvent{Object: pinRun(name, finished), IsInInitialList: true}
	}
	// Each object of the first list comes to both handlers, as the controller has them.
	events := []event.CreateEvent{listed("waits", false)}
	for i := range 20 {
		events = append(events, listed(fmt.Sprintf("ended-%d", i), true))
	}
	events = append(events, listed("under-way", false))
	usual := &handler.EnqueueRequestForObject{}
	for _, e := range events {
		handler.WithLowPriorityWhenUnchanged(usual).Create(t.Context(), e, q)
		unfinishedFirst().Create(t.Context(), e, q)
	}
	first := map[string]bool{}
	for range 2 {
		request, priority, _ := q.GetWithPriority()
		first[request.Name] = true
		if priority != 0 {
			t.Errorf("%s has the priority %d", request.Name, priority)
		}
	}
	if !first["waits"] || !first["under-way"] || q.Len() != 20 {
		t.Errorf("the first are %v, and %d are left", first, q.Len())
	}
}
