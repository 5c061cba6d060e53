// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/text"
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
			if got, _ := CloseAsk(run, a, observed.Time{}, after(at)); got.Outcome != want {
				t.Errorf("%s: after %s %q, want %q", name, at, got.Outcome, want)
			}
		}
		// An answer that comes late counts as long as the ask is open.
		run.Spec.Responses = []v1alpha1.Response{{ID: a.ID, Answer: "red"}}
		if got, _ := CloseAsk(run, a, observed.Time{}, after(50*sec)); got.Outcome != v1alpha1.AskAnswered {
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

// Each kind of ask takes its own decisions, or an answer. The API refuses others only while the ask is shown.
func TestResponsesThatFit(t *testing.T) {
	t.Parallel()
	const (
		allowOnce, allowRun, deny       = v1alpha1.DecisionAllowOnce, v1alpha1.DecisionAllowRun, v1alpha1.DecisionDeny
		approveOnce, approveRun         = v1alpha1.DecisionApproveOnce, v1alpha1.DecisionApproveRun
		retry, skip, done, stop, answer = v1alpha1.DecisionRetry, v1alpha1.DecisionSkip, v1alpha1.DecisionDone, v1alpha1.DecisionStop, v1alpha1.Decision("")
	)
	digest := calls.ArgsDigest("bash", "{}")
	for name, tt := range map[string]struct {
		ask    v1alpha1.StepAsk
		digest string
		want   []v1alpha1.Decision
	}{
		"a question":                         {v1alpha1.StepAsk{Kind: v1alpha1.InputQuestion}, "", []v1alpha1.Decision{answer}},
		"a request for a domain":             {v1alpha1.StepAsk{Kind: v1alpha1.InputDomainRequest}, "", []v1alpha1.Decision{allowOnce, allowRun, deny}},
		"an unknown outcome":                 {v1alpha1.StepAsk{Kind: v1alpha1.InputOutcomeUnknown}, "", []v1alpha1.Decision{retry, skip, done}},
		"a retry":                            {v1alpha1.StepAsk{Kind: v1alpha1.InputRetry}, "", []v1alpha1.Decision{retry, stop}},
		"an approval by a rule":              {v1alpha1.StepAsk{Kind: v1alpha1.InputApproval, Digest: digest, Rule: "r"}, digest, []v1alpha1.Decision{approveOnce, approveRun, deny}},
		"an approval of this call alone":     {v1alpha1.StepAsk{Kind: v1alpha1.InputApproval, Digest: digest}, digest, []v1alpha1.Decision{approveOnce, deny}},
		"an approval, without its digest":    {v1alpha1.StepAsk{Kind: v1alpha1.InputApproval, Digest: digest, Rule: "r"}, "", nil},
		"an approval that records no digest": {v1alpha1.StepAsk{Kind: v1alpha1.InputApproval, Rule: "r"}, "", nil},
	} {
		for _, d := range []v1alpha1.Decision{allowOnce, allowRun, approveOnce, approveRun, deny, retry, skip, done, stop, answer} {
			run := testRun()
			r := v1alpha1.Response{ID: "it", Decision: d, Digest: tt.digest}
			if d == answer {
				r.Answer = "yes"
			}
			run.Spec.Responses = []v1alpha1.Response{r}
			tt.ask.ID = "it"
			if got := ResponseTo(run, &tt.ask) != nil; got != slices.Contains(tt.want, d) {
				t.Errorf("%s: the decision %q fits: %t", name, d, got)
			}
		}
	}
}

// Times are whole seconds, and never make a wait seem shorter than it was. A person may have 30 days.
func TestTimesOfAnAsk(t *testing.T) {
	t.Parallel()
	const most = 30 * 24 * time.Hour
	run := testRun()
	run.Spec.Limits.ApprovalDeadlineSeconds, run.Spec.Limits.InputDeadlineSeconds = 60, int32(most/time.Second)
	s := testStep(1, 1, call("bash", "{}"))
	for kind, wait := range map[v1alpha1.InputKind]time.Duration{
		v1alpha1.InputApproval: 60 * sec, v1alpha1.InputQuestion: most, v1alpha1.InputDomainRequest: most, v1alpha1.InputOutcomeUnknown: most,
	} {
		a := NewAsk(run, []v1alpha1.MotorStep{s}, kind, &s.Spec.ToolCalls[0], "a1-s1-c0", after(10*sec+900*time.Millisecond))
		if !a.AskTime.Time.Equal(after(10*sec)) || !a.ExpirationTime.Time.Equal(after(10*sec+wait)) {
			t.Errorf("%s: from %s to %s", kind, a.AskTime, a.ExpirationTime)
		}
	}
	a := NewAsk(run, []v1alpha1.MotorStep{s}, v1alpha1.InputQuestion, &s.Spec.ToolCalls[0], "a1-s1-c0", after(10*sec))
	run.Spec.Responses = []v1alpha1.Response{{ID: a.ID, Answer: "yes"}}
	for at, want := range map[time.Duration]time.Duration{20 * sec: 20 * sec, 20*sec + 100*time.Millisecond: 21 * sec} {
		if got, _ := CloseAsk(run, a, observed.Time{}, after(at)); !got.CloseTime.Time.Equal(after(want)) {
			t.Errorf("closed after %s: %s", at, got.CloseTime)
		}
	}
}

// The rule of an ask is what ApproveRun approves. One that does not fit into the ask is left out, so that no other calls are approved with this one.
func TestRuleOfAnAsk(t *testing.T) {
	t.Parallel()
	for quotes, want := range map[int]bool{1: true, 200: false} {
		pattern := strings.Repeat(`"`, quotes)
		run := approvalRun(v1alpha1.RunApproval{Bash: &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{v1alpha1.CommandPattern(pattern)}}})
		s := testStep(1, 1, call("bash", text.JSON(map[string]string{"command": "'" + pattern + "'"})))
		c := &s.Spec.ToolCalls[0]
		rule := calls.OpenRule(run, []v1alpha1.MotorStep{s}, c.Tool, c.Arguments)
		if rule == nil || rule.Name == "" {
			t.Fatalf("the rule of %d quotation marks: %+v", quotes, rule)
		}
		a := NewAsk(run, []v1alpha1.MotorStep{s}, v1alpha1.InputApproval, c, c.ID, after(10*sec))
		if a.Rule != rule.Name && want || a.Rule != "" && !want {
			t.Errorf("%d quotation marks: the rule has %d bytes", quotes, len(a.Rule))
		}
	}
}

// The time for a response is that in which a manager led: the ask does not expire by a time in which no manager could show it.
func TestGapsExtendAnAsk(t *testing.T) {
	t.Parallel()
	run := testRun()
	run.Spec.Limits.ApprovalDeadlineSeconds = 60
	s := testStep(1, 1, call("bash", "{}"))
	a := NewAsk(run, []v1alpha1.MotorStep{s}, v1alpha1.InputApproval, &s.Spec.ToolCalls[0], "a1-s1-c0", after(40*sec))
	o := observed.Time{Gaps: []observed.Gap{{From: after(20 * sec), To: after(30 * sec)}, {From: after(50 * sec), To: after(80 * sec)}}}
	for at, want := range map[time.Duration]v1alpha1.AskOutcome{100 * sec: "", 129 * sec: "", 130 * sec: v1alpha1.AskExpired} {
		if got, _ := CloseAsk(run, a, o, after(at)); got.Outcome != want {
			t.Errorf("after %s: %q", at, got.Outcome)
		}
	}
	// What is not known to have passed does not count either.
	o.Until = after(120 * sec)
	if got, over := CloseAsk(run, a, o, after(500*sec)); over {
		t.Errorf("without a heartbeat since: %q", got.Outcome)
	}
}
