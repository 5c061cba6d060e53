// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// A skill that would not be kept is told of when it is written and when the run is said to be done, and can be mended then. What runs in
// the background goes on meanwhile.
func TestEngineTellsOfSkillsBeforeTheEnd(t *testing.T) {
	finish := call("finish", `{"status":"Succeeded","summary":"The skill is written."}`)
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("write", `{"path":"skills/mail/SKILL.md","content":"# Mail\n"}`)),
		says("", bashCall(writes("docs/deep/SKILL.md", skillManifest("deep", "x"))), turn.Call{
			ModelID: "other", Tool: "bash", Arguments: `{"command":"echo $$ > pid; exec sleep 1000","background":true}`,
		}),
		says("", finish),
		says("", bashCall("kill -0 $(cat pid) && rm -r docs\n"+writes("skills/mail/SKILL.md", skillManifest("mail", "How to send mail.")))),
		says("", finish),
	}}, func(run *v1alpha1.MotorRun) { run.Spec.Tools = []v1alpha1.ToolName{"bash", "write"} })
	r.startEngineWith("worker-1", callsFinish)
	steps := r.steps(journalEnded)
	if res := steps[0].Status.Results[0]; !res.OK || !strings.Contains(res.Output, "[as it is, the skill will not be kept: SKILL.md: line 1: ") {
		t.Errorf("the file that was written: %+v", res)
	}
	if res := steps[2].Status.Results[0]; res.ErrorCode != result.CodeNotAccepted || !strings.Contains(res.Output, `- "skills/mail": SKILL.md: line 1: it must begin with a line ---`) ||
		!strings.Contains(res.Output, `not collected: "docs/deep/SKILL.md"`) {
		t.Errorf("the claim came to %+v", res)
	}
	if res := steps[3].Status.Results[0]; !res.OK {
		t.Errorf("after the look: %+v", res)
	}
	last := steps[len(steps)-1]
	if got := last.Status.Skills; len(steps) != 6 || !last.Spec.Final || got == nil || len(got.Created) != 1 || len(got.Rejected) != 0 {
		t.Errorf("%d steps, the skills are %+v", len(steps), got)
	}
}

// A run that says three times that it is done is done, and its skill is rejected.
func TestEngineEndsWithASkillThatIsRejected(t *testing.T) {
	finish := call("finish", `{"status":"Succeeded","summary":"The skill is written."}`)
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall(writes("skills/mail/SKILL.md", "# Mail\n"))), says("", finish), says("", finish), says("", finish),
	}})
	r.startEngineWith("worker-1", callsFinish)
	steps := r.steps(journalEnded)
	last := steps[len(steps)-1]
	if got := last.Status.Skills; len(steps) != 5 || !last.Spec.Final || got == nil || len(got.Rejected) != 1 {
		t.Errorf("%d steps, the skills are %+v", len(steps), got)
	}
}
