// SPDX-License-Identifier: Apache-2.0

// Package spantest has a run for tests of spans.
package spantest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Begin is when the run was created.
var Begin = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// At returns the time so many seconds after Begin.
func At(seconds int) metav1.Time {
	return metav1.NewTime(Begin.Add(time.Duration(seconds) * time.Second))
}

// UID is that of the run.
const UID = "0f8fad5b-d9cb-469f-a165-70867728950e"

func step(name string, index int32, seconds int, change func(*v1alpha1.MotorStep)) v1alpha1.MotorStep {
	s := v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "agents", CreationTimestamp: At(seconds), Labels: map[string]string{v1alpha1.LabelRun: "portfolio"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "motorcortex.dev/v1alpha1", Kind: "MotorRun", Name: "portfolio", UID: UID}},
		},
		Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: index},
	}
	change(&s)
	return s
}

// Lived returns a run that still works at its second attempt, and its steps.
func Lived() (*v1alpha1.MotorRun, []v1alpha1.MotorStep) {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "portfolio", Namespace: "agents", UID: UID, CreationTimestamp: At(0)},
		Status: v1alpha1.MotorRunStatus{
			Reason: "Running", Model: "scripted/a", Usage: v1alpha1.Usage{TotalTokens: 150},
			Attempts: []v1alpha1.AttemptStatus{
				{Index: 1, StartTime: new(At(1)), CompletionTime: new(At(90)), Usage: v1alpha1.Usage{TotalTokens: 120}, Failure: &v1alpha1.FailureSummary{Reason: "Stuck"}},
				{Index: 2, StartTime: new(At(95)), Usage: v1alpha1.Usage{TotalTokens: 30}},
			},
		},
	}
	first := step("s1", 1, 33, func(s *v1alpha1.MotorStep) {
		s.Spec.Model, s.Spec.ModelMilliseconds, s.Spec.Usage = "a-2026", 2500, v1alpha1.Usage{PromptTokens: 100, CompletionTokens: 20, CachedTokens: 5, TotalTokens: 120}
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "c0", Tool: "read", Arguments: `{"path":"a\u001b[2J"}`}, {ID: "c1", Tool: "bash", Arguments: `{"command":"push"}`}}
		s.Status.Results = []v1alpha1.ToolResult{{CallID: "c0", OK: true, DurationMilliseconds: 3}, {CallID: "c1", ErrorCode: "exit_1", DurationMilliseconds: 500, WaitedMilliseconds: 10000}}
		s.Status.Asks = []v1alpha1.StepAsk{{ID: "q", CallID: "c1", Kind: v1alpha1.InputApproval, AskTime: At(33), CloseTime: At(43), Outcome: v1alpha1.AskApproved}}
	})
	outage := step("o2", 2, 60, func(s *v1alpha1.MotorStep) {
		s.Spec.Type, s.Spec.Outage = v1alpha1.StepOutage, &v1alpha1.ModelOutage{Reason: "ModelUnreachable"}
	})
	end := step("s2", 2, 90, func(s *v1alpha1.MotorStep) { s.Spec.Type = v1alpha1.StepEnd })
	works := step("s3", 1, 100, func(s *v1alpha1.MotorStep) {
		s.Spec.Attempt, s.Spec.ModelMilliseconds, s.Spec.Usage = 2, 4000, v1alpha1.Usage{TotalTokens: 30}
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "d0", Tool: "bash", Arguments: `{"command":"make"}`}, {ID: "d1", Tool: "bash", Arguments: `{"command":"later"}`}}
	})
	return run, []v1alpha1.MotorStep{first, outage, end, works}
}
