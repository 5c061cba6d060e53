// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

func oneshotRun(causes ...v1alpha1.AttemptCause) *v1alpha1.MotorRun {
	run := withAttempts(testRun(), causes...)
	run.Spec.MaxAttempts = 3
	oneshotMode(run)
	return run
}

// ended adds the result of the code.
func ended(code, output string) stepOption {
	return func(s *v1alpha1.MotorStep) {
		done("oneshot", code == "", 5, output)(s)
		s.Status.Results[0].ErrorCode = code
	}
}

func TestOneshotEnds(t *testing.T) {
	t.Parallel()
	failure := func(code string) string { return `{"ok":false,"error":{"code":"` + code + `","message":"because"}}` }
	tests := map[string]struct {
		step                   v1alpha1.MotorStep
		phase                  v1alpha1.RunPhase
		reason, message, value string
	}{
		"a value": {
			testStep(1, 1, ended("", `{"ok":true,"value":7}`)),
			v1alpha1.PhaseCompleted, "Completed", "The code ended.", `{"ok":true,"value":7}`,
		},
		"a timeout": {
			testStep(1, 1, ended("execution_timeout", failure("EXECUTION_TIMEOUT"))),
			v1alpha1.PhaseFailed, "ExecutionTimeout", "The code did not end in its time (spec.code.timeoutMilliseconds): because", failure("EXECUTION_TIMEOUT"),
		},
		"an error": {
			testStep(1, 1, ended("execution_error", failure("EXECUTION_ERROR"))),
			v1alpha1.PhaseFailed, "ExecutionError", "The code failed: because", failure("EXECUTION_ERROR"),
		},
		"blocked": {
			testStep(1, 1, ended("execution_blocked", failure("EXECUTION_BLOCKED"))),
			v1alpha1.PhaseFailed, "ExecutionBlocked", "The code asks for what no Oneshot run has: because", failure("EXECUTION_BLOCKED"),
		},
		"nobody knows": {
			testStep(1, 1, ended("outcome_unknown", "It may have done anything.")),
			v1alpha1.PhaseFailed, "ExecutionError",
			"The code failed: The sandbox's tool server ended while the code ran, and its outcome is unknown. The code may need more memory than the sandbox has. Code with domains may have done its work, and is not run again by itself.",
			`{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"The sandbox's tool server ended while the code ran, and its outcome is unknown. ` +
				`The code may need more memory than the sandbox has. Code with domains may have done its work, and is not run again by itself."}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := oneshotRun(first)
			o := Observation{Run: run, Progress: ReadJournal(run, []v1alpha1.MotorStep{tt.step})}
			if p := o.Progress; p.Value != tt.value || p.Pending != nil || len(p.Unknown) > 0 || p.Turns != 1 || p.ToolCalls != 1 {
				t.Errorf("progress %+v", p)
			}
			d := Decide(o, after(20*sec))
			if d.End == nil || d.Retry != nil || d.Next != nil {
				t.Fatalf("decided %+v", d)
			}
			e := d.End
			if e.Phase != tt.phase || e.Reason != tt.reason || e.Message != tt.message {
				t.Errorf("the end is %+v", e)
			}
			if tt.phase == v1alpha1.PhaseCompleted {
				return
			}
			want := &v1alpha1.FailureSummary{
				Category: v1alpha1.CategoryToolFailure, Reason: tt.reason, Message: tt.message, LastStepName: "run-a01-s0001", SuggestedAction: v1alpha1.ActionStop,
			}
			if diff := cmp.Diff(want, e.Failure); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

// The expectation of the run stands beside the value, whether the value is whole or not.
func TestOneshotExpects(t *testing.T) {
	t.Parallel()
	run := oneshotRun(first)
	run.Spec.Code = &v1alpha1.Code{ExpectedOutput: "a number"}
	for output, want := range map[string]string{
		`{"ok":true,"value":7}`:                    "The code ended. Expected is: a number",
		`{"ok":true,"head":"[1","truncated":true}`: "in parts. Expected is: a number",
	} {
		p := ReadJournal(run, []v1alpha1.MotorStep{testStep(1, 1, ended("", output))})
		if p.Final == nil || !strings.HasSuffix(*p.Final, want) {
			t.Errorf("%s: %v", output, p.Final)
		}
	}
	p := ReadJournal(run, []v1alpha1.MotorStep{testStep(1, 1, ended("execution_error", `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"because"}}`))})
	if p.Final != nil || p.Failure == nil || strings.Contains(p.Failure.Message, "Expected") {
		t.Errorf("of code that failed: %+v", p.Failure)
	}
}

func TestOneshotInFlight(t *testing.T) {
	t.Parallel()
	run := oneshotRun(first)
	for name, step := range map[string]v1alpha1.MotorStep{
		"just begun":      testStep(1, 1, call("oneshot", "{}")),
		"made once more":  testStep(1, 1, call("oneshot", "{}"), unknown("a1-s1-c0", "a1-s1-c0", "Redo", sec)),
		"of an Agentic":   testStep(1, 1, done("bash", true, 1, "")),
		"no result of it": testStep(1, 1),
	} {
		p := ReadJournal(run, []v1alpha1.MotorStep{step})
		if d := Decide(Observation{Run: run, Progress: p}, after(20*sec)); d.End != nil || d.Failure != nil || p.Pending != nil || len(p.Unknown) > 0 {
			t.Errorf("%s: %+v, %+v", name, d, p)
		}
	}
	// Whatever name a model uses for it, it is not a call of a Oneshot run.
	if p := ReadJournal(testRun(), []v1alpha1.MotorStep{testStep(1, 1, ended("", `{"ok":true}`))}); p.Final != nil || p.Value != "" {
		t.Errorf("an Agentic run: %+v", p)
	}
}

// A lost sandbox costs an attempt of the operator, and no decision of a person.
func TestOneshotThatLosesItsSandbox(t *testing.T) {
	t.Parallel()
	step := testStep(1, 1, call("oneshot", "{}"))
	run := oneshotRun(first)
	run.Spec.Responses = []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry, Guidance: "again"}}
	o := Observation{Run: run, Progress: ReadJournal(run, []v1alpha1.MotorStep{step}), SandboxGone: true}
	d := Decide(o, after(20*sec))
	if d.End != nil || d.Next == nil || d.Next.Cause != v1alpha1.CauseInfrastructure || !d.Next.NewSandbox {
		t.Errorf("decided %+v", d)
	}
	run = oneshotRun(first, infra, infra)
	o = Observation{Run: run, Progress: ReadJournal(run, nil), SandboxGone: true}
	if d := Decide(o, after(30*sec)); d.End == nil || d.End.Reason != v1alpha1.ReasonSandboxLost {
		t.Errorf("decided %+v", d)
	}
}

// The value is what a caller came for: whatever else is in the status, it is not cut.
func TestFitKeepsTheValue(t *testing.T) {
	t.Parallel()
	st := fullStatus()
	st.Attempts, st.PendingInputs, st.Egress = st.Attempts[6:9], nil, nil
	at := new(metav1.NewTime(t0))
	st.Attempts[2].Failure, st.CompletionTime = new(*st.Attempts[0].Failure), at
	p := ReadJournal(oneshotRun(first), []v1alpha1.MotorStep{testStep(1, 1, ended("", `{"ok":true,"value":"`+strings.Repeat("<", 2040)+`"}`))})
	st.Result = &v1alpha1.RunResult{Summary: fit.CutEncoded(strings.Repeat("<", 2000), 1200), Value: p.Value}
	if fit.Fit(st); jsonSize(st) > fit.MaxStatusBytes || st.Result.Value != p.Value || fit.EncodedSize(p.Value) < 12_000 {
		t.Errorf("%d bytes, %d of them the value", jsonSize(st), fit.EncodedSize(st.Result.Value))
	}
}
