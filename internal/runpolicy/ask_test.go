// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The default of a question counts at the end of its time if the run enables that, and the question has one.
func TestDefaultOfAQuestion(t *testing.T) {
	t.Parallel()
	const with, without = `{"question":"Which?","default":"blue"}`, `{"question":"Which?"}`
	for name, tt := range map[string]struct {
		questions *v1alpha1.RunQuestions
		arguments string
		want      v1alpha1.OnTimeout
	}{
		"as by default":     {nil, with, v1alpha1.OnTimeoutFail},
		"fail":              {&v1alpha1.RunQuestions{OnTimeout: v1alpha1.OnTimeoutFail}, with, v1alpha1.OnTimeoutFail},
		"use it":            {&v1alpha1.RunQuestions{OnTimeout: v1alpha1.OnTimeoutUseDefault}, with, v1alpha1.OnTimeoutUseDefault},
		"there is none":     {&v1alpha1.RunQuestions{OnTimeout: v1alpha1.OnTimeoutUseDefault}, without, v1alpha1.OnTimeoutFail},
		"it is no question": {&v1alpha1.RunQuestions{OnTimeout: v1alpha1.OnTimeoutUseDefault}, "{", v1alpha1.OnTimeoutFail},
	} {
		run := testRun()
		run.Spec.Questions = tt.questions
		s := testStep(1, 1, call("ask_user", tt.arguments))
		a := NewAsk(run, []v1alpha1.MotorStep{s}, v1alpha1.InputQuestion, &s.Spec.ToolCalls[0], "a1-s1-c0", after(10*sec))
		if a.OnTimeout != tt.want {
			t.Errorf("%s: %s", name, a.OnTimeout)
		}
		s.Status.Asks = []v1alpha1.StepAsk{a}
		// The end of its time ends the run, or is for the loop to find.
		d := Decide(Observation{Run: run, Progress: ReadJournal(run, []v1alpha1.MotorStep{s})}, after(40*sec))
		if fails := d.End != nil && d.End.Reason == v1alpha1.ReasonUserResponseTimeout; fails != (tt.want == v1alpha1.OnTimeoutFail) && tt.arguments != "{" {
			t.Errorf("%s: at the end of its time %+v", name, d)
		}
		for at, want := range map[time.Duration]v1alpha1.AskOutcome{39 * sec: "", 40 * sec: v1alpha1.AskExpired} {
			if tt.want == v1alpha1.OnTimeoutFail {
				want = ""
			}
			if got, _ := CloseAsk(run, a, Observed{}, after(at)); got.Outcome != want {
				t.Errorf("%s: after %s %q, want %q", name, at, got.Outcome, want)
			}
		}
		// An answer that comes late counts as long as the ask is open.
		run.Spec.Responses = []v1alpha1.Response{{ID: a.ID, Answer: "red"}}
		if got, _ := CloseAsk(run, a, Observed{}, after(50*sec)); got.Outcome != v1alpha1.AskAnswered {
			t.Errorf("%s: answered late: %q", name, got.Outcome)
		}
	}
}

// An approved call runs since it was approved, and not since it was asked about.
func TestAnApprovedCallRunsSinceThen(t *testing.T) {
	t.Parallel()
	s := testStep(1, 1, call("bash", "{}"), approval("a1-s1-c0", "a1-s1-c0", "Approved", 20*sec, 500*sec))
	if p := ReadJournal(testRun(), []v1alpha1.MotorStep{s}); p.Running == nil || !p.Running.Since.Equal(after(500*sec)) {
		t.Errorf("running %+v", p.Running)
	}
}
