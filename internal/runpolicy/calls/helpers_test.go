// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// t0 is when every run of the tests was created.
var t0 = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

// testRun may take 100 s, and 30 s for each answer.
func testRun(responses ...string) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "ns", CreationTimestamp: metav1.NewTime(t0)},
		Spec:       v1alpha1.MotorRunSpec{Limits: v1alpha1.RunLimits{ActiveDeadlineSeconds: 100, InputDeadlineSeconds: 30}},
	}
	for _, id := range responses {
		run.Spec.Responses = append(run.Spec.Responses, v1alpha1.Response{ID: id, Answer: "answer to " + id})
	}
	return run
}

type stepOption func(*v1alpha1.MotorStep)

// testStep returns a turn that was written 10 s after the run was created.
func testStep(attempt, index int32, options ...stepOption) v1alpha1.MotorStep {
	s := v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("run-a%02d-s%04d", attempt, index), CreationTimestamp: metav1.NewTime(after(10 * time.Second)),
			UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", 0xabc000+(attempt-1)*100+index)),
		},
		Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: index, Epoch: 1},
	}
	for _, o := range options {
		o(&s)
	}
	return s
}

// call adds a call without a result.
func call(tool, arguments string) stepOption {
	return func(s *v1alpha1.MotorStep) {
		id := fmt.Sprintf("a%d-s%d-c%d", s.Spec.Attempt, s.Spec.Index, len(s.Spec.ToolCalls))
		s.Spec.ToolCalls = append(s.Spec.ToolCalls, v1alpha1.ToolCall{ID: id, Tool: tool, Arguments: arguments})
	}
}

func ask(question string) stepOption {
	return call("ask_user", fmt.Sprintf(`{"question":%q}`, question))
}

// plainRun has no rules but one.
func plainRun(required v1alpha1.ApprovalMode, domains ...v1alpha1.Domain) *v1alpha1.MotorRun {
	run := testRun()
	run.Spec.Domains = domains
	run.Spec.Approval = &v1alpha1.RunApproval{Required: required}
	return run
}

// finished returns the last call of the step a result.
func finished(r v1alpha1.ToolResult) stepOption {
	return func(s *v1alpha1.MotorStep) {
		r.CallID = s.Spec.ToolCalls[len(s.Spec.ToolCalls)-1].ID
		s.Status.Results = append(s.Status.Results, r)
	}
}

// reasonOf returns why the call needs approval first.
func reasonOf(run *v1alpha1.MotorRun, tool, arguments string) string {
	if rules := ApprovalRules(run, tool, arguments); len(rules) > 0 {
		return rules[0].Reason
	}
	return ""
}

// unknown adds an execution of a call whose end was not observed.
func unknown(callID, execution, policy string, found time.Duration) stepOption {
	return func(s *v1alpha1.MotorStep) {
		s.Status.Unknown = append(s.Status.Unknown, v1alpha1.UnknownExecution{
			Execution: execution, CallID: callID, DetectionTime: metav1.NewTime(after(found)), Policy: policy,
		})
	}
}
