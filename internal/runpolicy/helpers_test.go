// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
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

// done adds a call that has a result.
func done(tool string, ok bool, ms int64, output string) stepOption {
	return func(s *v1alpha1.MotorStep) {
		call(tool, `{"question":"settled?"}`)(s)
		r := v1alpha1.ToolResult{CallID: s.Spec.ToolCalls[len(s.Spec.ToolCalls)-1].ID, OK: ok, DurationMilliseconds: ms, Output: output}
		if !ok {
			r.ErrorCode = "exit_1"
		}
		s.Status.Results = append(s.Status.Results, r)
		if tool != "ask_user" {
			s.Status.ToolMilliseconds += ms
			return
		}
		if ok {
			asked(v1alpha1.InputQuestion, 10*time.Second)(s)
			closed(v1alpha1.AskAnswered, 10*time.Second+time.Duration(ms)*time.Millisecond)(s)
		}
	}
}

func ask(question string) stepOption {
	return call("ask_user", fmt.Sprintf(`{"question":%q}`, question))
}

// asked has a person asked by the last call of a run that has the limits of testRun, and 60 s for approvals.
func asked(kind v1alpha1.InputKind, at time.Duration) stepOption {
	return func(s *v1alpha1.MotorStep) {
		c := &s.Spec.ToolCalls[len(s.Spec.ToolCalls)-1]
		askedAbout(c.ID, c.ID, kind, at)(s)
	}
}

// askedAbout has a person asked about an execution of a call.
func askedAbout(callID, execution string, kind v1alpha1.InputKind, at time.Duration) stepOption {
	return func(s *v1alpha1.MotorStep) {
		run := testRun()
		run.Spec.Limits.ApprovalDeadlineSeconds = 60
		if c := calls.CallOf(s, callID); c != nil {
			s.Status.Asks = append(s.Status.Asks, NewAsk(run, []v1alpha1.MotorStep{*s}, kind, c, execution, after(at)))
		}
	}
}

// closed returns the last ask its outcome.
func closed(outcome v1alpha1.AskOutcome, at time.Duration) stepOption {
	return func(s *v1alpha1.MotorStep) {
		a := &s.Status.Asks[len(s.Status.Asks)-1]
		a.Outcome, a.CloseTime = outcome, metav1.NewTime(after(at))
	}
}

// asking adds a question that is asked.
func asking(question string, at time.Duration) stepOption {
	return func(s *v1alpha1.MotorStep) {
		ask(question)(s)
		asked(v1alpha1.InputQuestion, at)(s)
	}
}

// requesting adds a request for a domain that is asked.
func requesting(domain string, at time.Duration) stepOption {
	return func(s *v1alpha1.MotorStep) {
		request(domain)(s)
		asked(v1alpha1.InputDomainRequest, at)(s)
	}
}

func final(content string) stepOption {
	return func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.Content = true, content }
}

func outcome(reason string) stepOption {
	return func(s *v1alpha1.MotorStep) {
		s.Spec.Type = v1alpha1.StepEnd
		s.Spec.Outcome = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryToolFailure, Reason: reason, Message: "It failed.", Retryable: true}
	}
}

func usage(prompt, completion int64) stepOption {
	return func(s *v1alpha1.MotorStep) {
		s.Spec.Model, s.Spec.ModelMilliseconds = "model-1", 1000
		s.Spec.Usage = v1alpha1.Usage{PromptTokens: prompt, CompletionTokens: completion, CachedTokens: 1, TotalTokens: prompt + completion}
	}
}

// withAttempts returns the run attempts, the last of which is open. Each began 5 s after the one before failed.
func withAttempts(run *v1alpha1.MotorRun, causes ...v1alpha1.AttemptCause) *v1alpha1.MotorRun {
	for i, cause := range causes {
		at := metav1.NewTime(after(time.Duration(i) * 5 * time.Second))
		if i > 0 {
			Fail(&run.Status, &v1alpha1.FailureSummary{Category: v1alpha1.CategoryToolFailure, Reason: "Why", Retryable: true}, at)
		}
		Begin(&run.Status, &Next{Index: int32(i) + 1, Cause: cause}, at.Time)
	}
	return run
}

func suspendedSince(status metav1.ConditionStatus, since time.Duration) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionSuspended, Status: status, LastTransitionTime: metav1.NewTime(after(since))}
}

// unknown adds an execution of a call whose end was not observed.
func unknown(callID, execution, policy string, found time.Duration) stepOption {
	return func(s *v1alpha1.MotorStep) {
		s.Status.Unknown = append(s.Status.Unknown, v1alpha1.UnknownExecution{
			Execution: execution, CallID: callID, DetectionTime: metav1.NewTime(after(found)), Policy: policy,
		})
		if policy == "Person" {
			askedAbout(callID, execution, v1alpha1.InputOutcomeUnknown, found)(s)
		}
	}
}

// jsonSize returns the size of a value in JSON, in bytes.
func jsonSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return len(b)
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
	if rules := calls.ApprovalRules(run, tool, arguments); len(rules) > 0 {
		return rules[0].Reason
	}
	return ""
}
