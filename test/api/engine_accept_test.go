// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// accepts has a run count as done only when the file is there, the commands succeed, and the value fits.
func accepts(run *v1alpha1.MotorRun) {
	run.Spec.Accept = &v1alpha1.RunAcceptance{
		Files: []string{"artifacts/*.txt"},
		Commands: []v1alpha1.AcceptCommand{
			{Command: "grep -q 5 artifacts/sum.txt"}, {Command: "echo checked >> checks.txt; cat checks.txt", TimeoutSeconds: 5},
		},
		ValueSchema: `{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`,
	}
}

// onlyWrites has a run whose model has no shell. The commands run all the same.
func onlyWrites(run *v1alpha1.MotorRun) { run.Spec.Tools = []v1alpha1.ToolName{"write"} }

// What a run demands is looked at in the sandbox when the model says that it is done, and recorded like any call. What does not hold is
// told to the model.
func TestEngineAccepts(t *testing.T) {
	finish := `{"status":"Succeeded","summary":"It is there.","value":{"sum": 5}}`
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("finish", `{"status":"Succeeded","summary":"It is there.","value":{"sum":"five"}}`)),
		says("", call("write", `{"path":"artifacts/sum.txt","content":"4\n"}`), turn.Call{ModelID: "other", Tool: "finish", Arguments: finish}),
		says("", call("write", `{"path":"artifacts/sum.txt","content":"5\n"}`), turn.Call{ModelID: "other", Tool: "finish", Arguments: finish}),
	}}, accepts, onlyWrites)
	r.startEngineWith("worker-1", callsFinish)
	steps := r.ended(6)
	if res := steps[0].Status.Results[0]; res.ErrorCode != result.CodeNotAccepted || !strings.Contains(res.Output, `"sum"`) {
		t.Errorf("the value came to %+v", res)
	}
	for i, want := range map[int]bool{2: false, 4: true} {
		s := steps[i]
		if !s.Spec.Checks || s.Spec.Model != "" || s.Spec.Usage.TotalTokens != 0 || len(s.Status.Results) != 2 || s.Status.Results[0].OK != want || !s.Status.Results[1].OK {
			t.Errorf("the checks are %+v, and came to %+v", s.Spec, s.Status.Results)
		}
	}
	if got := steps[4].Status.Results[1].Output; got != "checked\nchecked\n" {
		t.Errorf("the second check of the second time says %q", got)
	}
	if last := steps[5].Spec; !last.Final || last.Content != "It is there." || last.Value != `{"sum":5}` {
		t.Errorf("the end is %+v", last)
	}
	p := runpolicy.ReadJournal(r.run, steps)
	if p.Turns != 3 || p.Iterations != 3 || p.ToolCalls != 9 || p.Value != `{"sum":5}` || p.Final == nil || len(p.Unknown) != 0 {
		t.Errorf("the journal says %+v", p)
	}
	if told := r.model.lastPrompt(); !strings.Contains(told, `the workspace has "artifacts/*.txt"`) {
		t.Errorf("the model was told %s", told)
	}
}

// A check that needs approval waits for a person, who is told what it is for. Without approval the attempt ends.
func TestEngineAsksBeforeACheck(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("finish", `{"status":"Succeeded","summary":"Done."}`)),
	}}, func(run *v1alpha1.MotorRun) {
		run.Spec.Accept = &v1alpha1.RunAcceptance{Commands: []v1alpha1.AcceptCommand{{Command: "echo sent > sent.txt"}}}
		run.Spec.Approval = &v1alpha1.RunApproval{Required: v1alpha1.ApprovalAlways}
	})
	r.startEngineWith("worker-1", callsFinish)
	asked := r.pendingApproval("a1-s2-c0")
	if !asked.Action.Check || !strings.Contains(asked.Question, "has the run make the call") || !strings.Contains(asked.Title, "echo sent") {
		t.Errorf("asked %+v", asked)
	}
	r.decideCall(asked, v1alpha1.DecisionDeny)
	steps := r.ended(3)
	if o := steps[2].Spec.Outcome; o == nil || o.Reason != v1alpha1.ReasonAcceptanceFailed || !strings.Contains(o.Message, "was not approved") || steps[2].Spec.Content != "Done." {
		t.Errorf("the end is %+v", steps[2].Spec)
	}
}
