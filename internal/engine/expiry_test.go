// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
)

// A waiting loop is started again when it has its answer, and one that waits for an approval when the time for it is over.
func TestIdle(t *testing.T) {
	t.Parallel()
	approve := &attempt.Waiting{Ask: v1alpha1.StepAsk{ID: "id", Kind: v1alpha1.InputApproval, Digest: "sha256:this", OnTimeout: v1alpha1.OnTimeoutDeny}, Expires: enginetest.Noon.Add(time.Minute)}
	ask := &attempt.Waiting{Ask: v1alpha1.StepAsk{ID: "id", Kind: v1alpha1.InputQuestion, OnTimeout: v1alpha1.OnTimeoutFail}, Expires: enginetest.Noon}
	defaulted := &attempt.Waiting{Ask: v1alpha1.StepAsk{ID: "id", Kind: v1alpha1.InputQuestion, OnTimeout: v1alpha1.OnTimeoutUseDefault}, Expires: enginetest.Noon.Add(time.Minute)}
	domain := &attempt.Waiting{Ask: v1alpha1.StepAsk{ID: "id", Kind: v1alpha1.InputDomainRequest}, Expires: enginetest.Noon}
	answered := []v1alpha1.Response{{ID: "id", Answer: "yes"}}
	approved := []v1alpha1.Response{{ID: "id", Decision: v1alpha1.DecisionApproveOnce, Digest: "sha256:this"}}
	for name, tt := range map[string]struct {
		worker    worker
		responses []v1alpha1.Response
		at        time.Time
		wait      time.Duration
		idle      bool
	}{
		"something to do":          {worker{}, nil, enginetest.Noon, 0, false},
		"over":                     {worker{over: true}, answered, enginetest.Noon, 0, true},
		"to be tried again":        {worker{retryAt: enginetest.Noon.Add(time.Second)}, nil, enginetest.Noon, time.Second, true},
		"asks":                     {worker{waitingFor: ask}, nil, enginetest.Noon, 0, true},
		"has its answer":           {worker{waitingFor: ask}, answered, enginetest.Noon, 0, false},
		"is to be approved":        {worker{waitingFor: approve}, nil, enginetest.Noon, time.Minute, true},
		"approved":                 {worker{waitingFor: approve}, approved, enginetest.Noon, 0, false},
		"another was approved":     {worker{waitingFor: approve}, []v1alpha1.Response{{ID: "id", Decision: v1alpha1.DecisionApproveOnce, Digest: "sha256:that"}}, enginetest.Noon, time.Minute, true},
		"its time is almost over":  {worker{waitingFor: approve}, answered, enginetest.Noon.Add(time.Minute - 1), 1, true},
		"its time is over":         {worker{waitingFor: approve}, nil, enginetest.Noon.Add(time.Minute), 0, false},
		"has a default":            {worker{waitingFor: defaulted}, nil, enginetest.Noon, time.Minute, true},
		"its default is due":       {worker{waitingFor: defaulted}, nil, enginetest.Noon.Add(time.Minute), 0, false},
		"a domain, not in effect":  {worker{waitingFor: domain}, []v1alpha1.Response{{ID: "id", Decision: v1alpha1.DecisionAllowRun}}, enginetest.Noon, 0, true},
		"its time was over before": {worker{waitingFor: approve, retryAt: enginetest.Noon.Add(time.Hour)}, nil, enginetest.Noon.Add(59 * time.Minute), time.Minute, true},
	} {
		run := enginetest.ReadyRun()
		run.Spec.Responses = tt.responses
		e := &Engine{Now: func() time.Time { return tt.at }}
		if wait, idle := tt.worker.idle(run, tt.at, e.until); wait != tt.wait || idle != tt.idle {
			t.Errorf("%s: idle %t, for %s", name, idle, wait)
		}
	}
}

// A replica that takes a waiting run over has no loop for it that knows when to continue.
func TestExpiry(t *testing.T) {
	t.Parallel()
	e := &Engine{Config: Config{Worker: "worker-1"}, Now: func() time.Time { return enginetest.Noon }}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   time.Duration
	}{
		"asks for approval": {func(*v1alpha1.MotorRun) {}, time.Minute},
		"asks nothing":      {func(r *v1alpha1.MotorRun) { r.Status.PendingInputs = nil }, 0},
		"asks otherwise":    {func(r *v1alpha1.MotorRun) { r.Status.Pending().OnTimeout = v1alpha1.OnTimeoutFail }, 0},
		"another's":         {func(r *v1alpha1.MotorRun) { r.Status.Execution.Worker = "worker-2" }, 0},
		"suspended":         {func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }, 0},
		"over":              {func(r *v1alpha1.MotorRun) { r.Status.Pending().ExpirationTime = metav1.NewTime(enginetest.Noon) }, 0},
	} {
		run := enginetest.ReadyRun()
		run.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "id", Kind: v1alpha1.InputApproval, OnTimeout: v1alpha1.OnTimeoutDeny, ExpirationTime: metav1.NewTime(enginetest.Noon.Add(time.Minute))})
		tt.change(run)
		if got := e.expiry(run); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
