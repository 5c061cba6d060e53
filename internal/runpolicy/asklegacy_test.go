// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// shown010 returns an ask in the form that a leader of 0.1.0 shows.
func shown010(s *v1alpha1.MotorStep, kind v1alpha1.InputKind, at time.Duration) *v1alpha1.PendingInput {
	p := Shown(testRun(), s, &v1alpha1.StepAsk{
		ID: AskID(s, kind, "a0-s1-c0"), Kind: kind, CallID: "a0-s1-c0", Execution: "a0-s1-c0", AskedAt: metav1.NewTime(after(at)), ExpiresAt: metav1.NewTime(after(at + 500*sec)),
	})
	p.OnTimeout = ""
	return p
}

// A run that waits for a person when its manager is updated goes on waiting: the time is the person's, before and after the ask is recorded.
func TestAsksOfAnEarlierManagerGoOn(t *testing.T) {
	t.Parallel()
	for kind, option := range map[v1alpha1.InputKind]stepOption{
		v1alpha1.InputQuestion: ask("Which?"), v1alpha1.InputDomainRequest: request("example.org"),
		v1alpha1.InputOutcomeUnknown: func(s *v1alpha1.MotorStep) {
			call("bash", "{}")(s)
			s.Status.Unknown = []v1alpha1.UnknownExecution{{Execution: "a0-s1-c0", CallID: "a0-s1-c0", Policy: "Person", FoundAt: metav1.NewTime(after(20 * sec))}}
		},
	} {
		run := attemptRun(first)
		s := testStep(0, 1, option)
		run.Status.PendingInput = shown010(&s, kind, 20*sec)
		now := after(300 * sec) // The run has 100 s.
		p := ReadJournal(run, []v1alpha1.MotorStep{s})
		if p.Pending == nil || p.Pending.ID != run.Status.PendingInput.ID {
			t.Fatalf("%s: it waits for %+v", kind, p.Pending)
		}
		if d := Decide(Observation{Run: run, Progress: p}, now); d.End != nil {
			t.Errorf("%s: the run ends with %s", kind, d.End.Reason)
		}
		// The manager's own question is read once more.
		run.Status.PendingInput = p.Pending
		if again := ReadJournal(run, []v1alpha1.MotorStep{s}).Pending; again == nil || again.ID != p.Pending.ID {
			t.Errorf("%s: the next pass finds %+v", kind, again)
		}
		a := NewAsk(run, []v1alpha1.MotorStep{s}, kind, &s.Spec.ToolCalls[0], "a0-s1-c0", now)
		if a.ID != p.Pending.ID || !a.AskedAt.Equal(&p.Pending.AskedAt) || !a.ExpiresAt.Equal(&p.Pending.ExpiresAt) {
			t.Errorf("%s: recorded %+v", kind, a)
		}
		s.Status.Asks = []v1alpha1.StepAsk{a}
		closed(v1alpha1.AskAnswered, 300*sec)(&s)
		p = ReadJournal(run, []v1alpha1.MotorStep{s})
		if d := Decide(Observation{Run: run, Progress: p}, now.Add(sec)); d.End != nil || p.Pending != nil || p.Waited != 280*sec {
			t.Errorf("%s: after the answer it waits for %+v, people took %s, decision %+v", kind, p.Pending, p.Waited, d)
		}
	}
}

// An approval that was recorded by an earlier manager counts, and so does the word of before.
func TestApprovalsOfAnEarlierManager(t *testing.T) {
	t.Parallel()
	run := approvalRun(v1alpha1.RunApproval{Tools: []v1alpha1.ToolName{"bash"}})
	s := testStep(0, 1, call("bash", `{"command":"git push"}`))
	digest := ArgsDigest("bash", `{"command":"git push"}`)
	s.Status.Approvals = []v1alpha1.StepApproval{{Execution: "a0-s1-c0", CallID: "a0-s1-c0", ArgsDigest: digest, AskedAt: metav1.NewTime(after(20 * sec))}}
	open := OpenAsk(&s)
	if open == nil || !ExpiresAt(run, open).Equal(after(80*sec)) {
		t.Fatalf("open is %+v", open)
	}
	for at, want := range map[time.Duration]v1alpha1.AskOutcome{79 * sec: "", 80 * sec: v1alpha1.AskExpired} {
		if a, _ := CloseAsk(run, *open, Observed{}, after(at)); a.Outcome != want {
			t.Errorf("after %s %q", at, a.Outcome)
		}
	}
	run.Spec.Responses = []v1alpha1.Response{{ID: open.ID, Decision: "Approve", Digest: digest}}
	if a, _ := CloseAsk(run, *open, Observed{}, after(30*sec)); a.Outcome != v1alpha1.AskApproved || a.Decision != v1alpha1.DecisionApproveOnce {
		t.Errorf("approved with the word of before: %+v", a)
	}
	s.Status.Approvals[0].Outcome, s.Status.Approvals[0].DecidedAt = "Approved", metav1.NewTime(after(50*sec))
	if p := ReadJournal(run, []v1alpha1.MotorStep{s}); p.Pending != nil || p.Waited != 30*sec || len(UnknownResponses(run, p)) > 0 {
		t.Errorf("approved before: %+v, people took %s", p.Pending, p.Waited)
	}
	// An ask that is recorded anew under the same id replaces it.
	s.Status.Asks = AsksOf(&s)
	if asks := AsksOf(&s); len(asks) != 1 {
		t.Errorf("%d asks", len(asks))
	}
}

// Responses to the questions of an earlier manager are answers to an ask. A question that no person was asked is no ask.
func TestResponsesToAnEarlierManager(t *testing.T) {
	t.Parallel()
	s := testStep(0, 1, call("ask_user", `{"question":"Which?"}`), answered("a.example.org", ""), answered("b.example.org", ""))
	s.Status.Results = append(s.Status.Results, v1alpha1.ToolResult{CallID: "a0-s1-c0", OK: true, DurationMs: 5000})
	run := mayAsk()
	run.Spec.Responses = []v1alpha1.Response{{ID: "a0-s1-c0-00abc001", Answer: "this"}}
	decide(run, "a0-s1-c1-00abc001", v1alpha1.DecisionAllowRun)
	p := ReadJournal(run, []v1alpha1.MotorStep{s})
	if unknown := UnknownResponses(run, p); len(unknown) > 0 || len(p.Asked) != 2 {
		t.Errorf("unknown %q, asked %+v", unknown, p.Asked)
	}
	if got := Domains(run, p, nil); !slices.Contains(got, "a.example.org") || slices.Contains(got, "b.example.org") {
		t.Errorf("domains %q", got)
	}
}
