// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestActivity(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) metav1.Time { return metav1.NewTime(now.Add(time.Duration(seconds) * time.Second)) }
	running := func(change func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
		run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{
			Attempts: []v1alpha1.AttemptStatus{{Index: 1, StartTime: new(at(-60))}}, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionTrue}},
		}}
		if change != nil {
			change(run)
		}
		return run
	}
	step := func(change func(*v1alpha1.MotorStep)) []v1alpha1.MotorStep {
		s := v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(-20)}, Spec: v1alpha1.MotorStepSpec{
			Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, ToolCalls: []v1alpha1.ToolCall{{ID: "a", Tool: "read", Arguments: `{"path":"x"}`}, {ID: "b", Tool: "bash", Arguments: "{\"command\":\"ls \\u001b[2J\"}"}},
		}}
		change(&s)
		return []v1alpha1.MotorStep{s}
	}
	first := v1alpha1.ToolResult{CallID: "a", DurationMilliseconds: 1000, WaitedMilliseconds: 4000}
	for name, tt := range map[string]struct {
		run   *v1alpha1.MotorRun
		steps []v1alpha1.MotorStep
		what  string
		since int
		works bool
	}{
		"ended": {running(func(r *v1alpha1.MotorRun) { r.Status.CompletionTime = new(at(0)) }), nil, "it has ended", 0, false},
		"asks": {running(func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs = []v1alpha1.PendingInput{{ID: "q", Kind: v1alpha1.InputQuestion, AskTime: at(-5), ExpirationTime: at(60)}}
		}), nil, "waits for an answer: question, expires in 60s", -5, false},
		"suspended":    {running(func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }), nil, "is suspended", 0, false},
		"starts":       {running(func(r *v1alpha1.MotorRun) { r.Status.Conditions, r.Status.Message = nil, "The sandbox starts." }), nil, "The sandbox starts.", 0, true},
		"thinks first": {running(nil), nil, "the model thinks", -60, true},
		"without one":  {running(func(r *v1alpha1.MotorRun) { r.Spec.Mode = v1alpha1.ModeOneshot }), nil, "the code starts", -60, true},
		"first call":   {running(nil), step(func(*v1alpha1.MotorStep) {}), "read  x", -20, true},
		"second call":  {running(nil), step(func(s *v1alpha1.MotorStep) { s.Status.Results = []v1alpha1.ToolResult{first} }), `bash  ls \u001b[2J`, -15, true},
		"thinks on":    {running(nil), step(func(s *v1alpha1.MotorStep) { s.Status.Results = []v1alpha1.ToolResult{first, {CallID: "b"}} }), "the model thinks", -15, true},
		"thinks again": {running(func(r *v1alpha1.MotorRun) {
			r.Status.Attempts = append(r.Status.Attempts, v1alpha1.AttemptStatus{Index: 2})
		}), step(func(*v1alpha1.MotorStep) {}), "the model thinks", 0, true},
		"outage": {running(nil), step(func(s *v1alpha1.MotorStep) {
			s.Spec.Type, s.Spec.Outage = v1alpha1.StepOutage, &v1alpha1.ModelOutage{Reason: "ModelUnreachable"}
		}), "the model cannot be had: ModelUnreachable", -20, true},
		"ends": {running(nil), step(func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.ToolCalls = true, nil }), "what it leaves is collected", -20, true},
	} {
		a := activityOf(tt.run, tt.steps, now)
		if a.works != tt.works || !strings.HasPrefix(a.what, tt.what) || a.what == "" {
			t.Errorf("%s: %+v, want %q", name, a, tt.what)
		}
		if want := at(tt.since).Time; tt.since == 0 && !a.since.IsZero() || tt.since != 0 && !a.since.Equal(want) {
			t.Errorf("%s: since %s, want %s", name, a.since, want)
		}
	}
}
