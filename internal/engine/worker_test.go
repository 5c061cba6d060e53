// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
)

func condition(name string) metav1.Condition {
	return metav1.Condition{Type: name, Status: metav1.ConditionTrue}
}

func TestShouldRun(t *testing.T) {
	t.Parallel()
	asks := func(kind v1alpha1.InputKind) func(*v1alpha1.MotorRun) {
		return func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "id", Kind: kind})
		}
	}
	answered := func(kind v1alpha1.InputKind) func(*v1alpha1.MotorRun) {
		return func(r *v1alpha1.MotorRun) {
			asks(kind)(r)
			r.Spec.Responses = []v1alpha1.Response{{ID: "id", Answer: "yes"}}
			if kind == v1alpha1.InputOutcomeUnknown {
				r.Spec.Responses[0].Answer, r.Spec.Responses[0].Decision = "", v1alpha1.DecisionSkip
			}
		}
	}
	approval := func(left time.Duration, responses ...v1alpha1.Response) func(*v1alpha1.MotorRun) {
		return func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{
				ID: "id", Kind: v1alpha1.InputApproval, Action: &v1alpha1.PendingAction{ArgsDigest: "sha256:this"}, ExpirationTime: metav1.NewTime(enginetest.Noon.Add(left)),
				OnTimeout: v1alpha1.OnTimeoutDeny,
			})
			r.Spec.Responses = responses
		}
	}
	allowed := func(r *v1alpha1.MotorRun) {
		r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "id", Kind: v1alpha1.InputDomainRequest, Domain: "example.org"})
		r.Spec.Responses = []v1alpha1.Response{{ID: "id", Decision: v1alpha1.DecisionAllowOnce}}
	}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   bool
	}{
		"ready":                {func(*v1alpha1.MotorRun) {}, true},
		"being deleted":        {func(r *v1alpha1.MotorRun) { r.DeletionTimestamp = new(metav1.Now()) }, false},
		"cancelled":            {func(r *v1alpha1.MotorRun) { r.Spec.Cancel = true }, false},
		"suspended":            {func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }, false},
		"another's":            {func(r *v1alpha1.MotorRun) { r.Status.Execution.Worker = "worker-2" }, false},
		"nobody's":             {func(r *v1alpha1.MotorRun) { r.Status.Execution.Worker = "" }, false},
		"without an attempt":   {func(r *v1alpha1.MotorRun) { r.Status.Attempts = nil }, false},
		"without a sandbox":    {func(r *v1alpha1.MotorRun) { r.Status.Sandbox = nil }, false},
		"without an address":   {func(r *v1alpha1.MotorRun) { r.Status.Sandbox.PodIP = "" }, false},
		"the sandbox restarts": {func(r *v1alpha1.MotorRun) { r.Status.Conditions[0].Status = metav1.ConditionFalse }, false},
		"finished": {func(r *v1alpha1.MotorRun) {
			r.Status.Conditions = append(r.Status.Conditions, condition(v1alpha1.ConditionFinished))
		}, false},
		"asks":                       {asks(v1alpha1.InputQuestion), false},
		"is answered":                {answered(v1alpha1.InputQuestion), true},
		"asks about an outcome":      {asks(v1alpha1.InputOutcomeUnknown), false},
		"is answered about it":       {answered(v1alpha1.InputOutcomeUnknown), true},
		"asks for approval":          {approval(time.Second), false},
		"nobody approved in time":    {approval(0), true},
		"approved":                   {approval(time.Second, v1alpha1.Response{ID: "id", Decision: "ApproveOnce", Digest: "sha256:this"}), true},
		"denied":                     {approval(time.Second, v1alpha1.Response{ID: "id", Decision: "Deny", Digest: "sha256:this"}), true},
		"another call is approved":   {approval(time.Second, v1alpha1.Response{ID: "id", Decision: "ApproveOnce", Digest: "sha256:that"}), false},
		"awaits a retry":             {asks(v1alpha1.InputRetry), false},
		"a response starts no retry": {answered(v1alpha1.InputRetry), false},
		"its next attempt has begun": {func(r *v1alpha1.MotorRun) {
			r.Status.Attempts = append(r.Status.Attempts, v1alpha1.AttemptStatus{Index: 2})
		}, true},
		"the proxy knows the attempt before": {func(r *v1alpha1.MotorRun) {
			r.Status.Egress = &v1alpha1.EgressStatus{Attempt: 1}
			r.Status.Attempts = append(r.Status.Attempts, v1alpha1.AttemptStatus{Index: 2})
		}, false},
		"the proxy knows the attempt": {func(r *v1alpha1.MotorRun) {
			r.Status.Egress = &v1alpha1.EgressStatus{Attempt: 2}
			r.Status.Attempts = append(r.Status.Attempts, v1alpha1.AttemptStatus{Index: 2})
		}, true},
		"its way out is about to come": {func(r *v1alpha1.MotorRun) {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionEgressReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonEgressPending})
		}, false},
		"no way out will come": {func(r *v1alpha1.MotorRun) {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionEgressReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDomainNotAllowed})
		}, true},
		"a domain that is not granted": {func(r *v1alpha1.MotorRun) { allowed(r) }, false},
		"a domain that is granted": {func(r *v1alpha1.MotorRun) {
			allowed(r)
			r.Status.Pending().Answered = true
		}, true},
		"an answer to something else": {func(r *v1alpha1.MotorRun) { answered(v1alpha1.InputQuestion)(r); r.Spec.Responses[0].ID = "other" }, false},
	} {
		run := enginetest.ReadyRun()
		tt.change(run)
		e := &Engine{Config: Config{Worker: "worker-1"}, Now: func() time.Time { return enginetest.Noon }}
		if got := e.shouldRun(run); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestTaskOf(t *testing.T) {
	t.Parallel()
	run := enginetest.ReadyRun()
	for name, change := range map[string]func(*v1alpha1.MotorRun){
		"run":   func(r *v1alpha1.MotorRun) { r.UID = "other" },
		"epoch": func(r *v1alpha1.MotorRun) { r.Status.Execution.Epoch++ },
		"attempt": func(r *v1alpha1.MotorRun) {
			r.Status.Attempts = append(r.Status.Attempts, v1alpha1.AttemptStatus{Index: 2})
		},
		"sandbox":   func(r *v1alpha1.MotorRun) { r.Status.Sandbox.PodUID = "other" },
		"isolation": func(r *v1alpha1.MotorRun) { r.Status.Sandbox.IsolationLossTime = new(metav1.Now()) },
		"way out":   func(r *v1alpha1.MotorRun) { r.Status.Egress = &v1alpha1.EgressStatus{Proxy: "10.0.0.9:3128"} },
	} {
		other := run.DeepCopy()
		change(other)
		if taskOf(run) == taskOf(other) {
			t.Errorf("another %s is the same task", name)
		}
	}
	if same := run.DeepCopy(); taskOf(run) != taskOf(same) {
		t.Error("the same is another task")
	}
}
