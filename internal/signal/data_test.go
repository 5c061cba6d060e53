// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestTheDataOfProgress(t *testing.T) {
	t.Parallel()
	s := stepAt(1, 2, "\n  I look at \x1b[2Jthe files.  \nThen I count.", 3)
	want := &Result{Status: "progress", Statement: "I look at \uFFFD[2Jthe files.", Tools: "bash", Step: "run-a01-s0002"}
	if diff := cmp.Diff(want, progressOf(s)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheDataOfAnAsk(t *testing.T) {
	t.Parallel()
	p := &v1alpha1.PendingInput{
		ID: "a1-s2-c0", Kind: v1alpha1.InputApproval, Question: "May it?", Options: []string{"a"}, StepName: "run-a01-s0002", ExpirationTime: minute(9),
		OnTimeout: v1alpha1.OnTimeoutDeny, Action: &v1alpha1.PendingAction{Tool: "bash", Arguments: `{"command":"ls"}`, ArgsDigest: "sha256:1"},
	}
	got, err := json.Marshal(askOf(p))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"","runId":"","namespace":"","uid":"","status":"awaiting_input","step":"run-a01-s0002","question":"May it?",` +
		`"input":{"id":"a1-s2-c0","kind":"Approval","options":["a"],"tool":"bash","arguments":"{\"command\":\"ls\"}","digest":"sha256:1",` +
		`"expirationTime":"2026-01-02T03:13:05Z","onTimeout":"Deny"}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheDataOfAResult(t *testing.T) {
	t.Parallel()
	r := &v1alpha1.RunResult{OK: true, Summary: "Three words.", Value: `{"words": 3}`, Stats: v1alpha1.RunStats{Iterations: 2, Errors: 1, ToolCalls: 3, DurationMilliseconds: 4, Tokens: 5, EnergyCost: "0.17"}}
	want := &Task{OK: true, Summary: "Three words.", Value: json.RawMessage(`{"words":3}`), Stats: Stats{Iterations: 2, DurationMs: 4, Errors: 1, ToolCalls: 3, Tokens: 5, EnergyCost: "0.17"}}
	if diff := cmp.Diff(want, taskOf(r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for cost, says := range map[v1alpha1.EnergyAmount]string{"0.17": `"tokens":5,"energyCost":0.17}`, "": `"tokens":5}`} {
		r.Stats.EnergyCost = cost
		if data, err := json.Marshal(taskOf(r)); err != nil || !strings.Contains(string(data), says) {
			t.Errorf("a cost of %q: %s, %v", cost, data, err)
		}
	}
	r.Stats.EnergyCost = "0.17"
	r.Skills = &v1alpha1.SkillsResult{Created: []v1alpha1.ProposedSkill{{Name: "agentmail"}}, Updated: []v1alpha1.ProposedSkill{{Name: "a"}, {Name: "b"}}}
	want.Skills = &Skills{Created: []string{"agentmail"}, Updated: []string{"a", "b"}}
	if diff := cmp.Diff(want, taskOf(r)); diff != "" {
		t.Errorf("with skills, -want +got:\n%s", diff)
	}
	r.Skills = &v1alpha1.SkillsResult{Rejected: []v1alpha1.RejectedSkill{{Path: "c"}}}
	if got := taskOf(r).Skills; got != nil {
		t.Errorf("with skills that were not taken: %+v", got)
	}
	for name, value := range map[string]string{
		"not JSON": "{", "long": `"` + strings.Repeat("x", maxValue) + `"`, "long when it is escaped": `"` + strings.Repeat("<", maxValue/4) + `"`,
		"a secret": `{"token":"` + awsKey + `"}`,
	} {
		if v := valueOf(value); v != nil {
			t.Errorf("%s: the signal has %.80q", name, v)
		}
	}
}

// Whatever a run has in its status: a signal has a bound.
func TestASignalIsBounded(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"x", "<", "\x01", "\u2028", "ä", "\n"} {
		long := strings.Repeat(filler, 40000)
		run := newRun(ended("False", "Failed", 3)...)
		run.Status.Message = long
		run.Status.Result = &v1alpha1.RunResult{Summary: long, Partial: long, Value: long}
		run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1, Failure: &v1alpha1.FailureSummary{Message: long, Hint: long}}}
		asks := asking(newRun(accepted()), "q", 2)
		p := &asks.Status.PendingInputs[0]
		p.Question, p.Default, p.Action = long, long, &v1alpha1.PendingAction{Arguments: long}
		for range 10 {
			p.Options = append(p.Options, long)
		}
		for name, r := range map[string]Run{"end": {MotorRun: run}, "ask": {MotorRun: asks}, "step": {MotorRun: newRun(accepted()), Step: stepAt(1, 1, long, 2)}} {
			s, _ := r.Next(Cursor{Started: true}, all)
			encoded, err := json.Marshal(s.Data)
			if err != nil || len(encoded) > 48<<10 {
				t.Errorf("%s of %q: %d bytes, %v", name, filler, len(encoded), err)
			}
		}
	}
}
