// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/prompt"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The model sees the skill unchanged for the whole attempt.
func TestSkillIsNeverCompacted(t *testing.T) {
	cfg := config.Config{Task: "send it", Tools: []string{"bash"}, MaxIterations: 50, Skill: &config.Skill{Name: "mail", Body: "\n# Mail\n\nRun `scripts/send.py`.\n", Approved: true}}
	var turns []*turn.Turn
	for i := range int32(40) {
		step := settled(fmt.Sprintf("turn %d", i))
		step.Index = i + 1
		turns = append(turns, step)
	}
	turns = append(turns, &turn.Turn{Index: 41, Through: 37, Content: "in short"})
	msgs := conversation.Transcript(cfg, turns)
	if msgs[0].Role != chat.RoleSystem || msgs[0].Content != prompt.System(cfg) || !strings.Contains(msgs[0].Content, "Run `scripts/send.py`.") {
		t.Errorf("%+v", msgs[0])
	}
	if strings.Contains(fmt.Sprint(msgs), "turn 3\n") {
		t.Error("nothing was summed up")
	}
}

// A review has no person to ask: the tool is not offered, and a call of it is refused.
func TestReviewAsksNobody(t *testing.T) {
	cfg := config.Config{Tools: []string{"read"}, Skill: &config.Skill{Name: "mail"}, Review: true}
	for _, d := range cfg.Definitions(catalog.Builtin()) {
		if d.Name != toolapi.ToolRead && d.Name != toolapi.ToolFinish {
			t.Errorf("%s is offered", d.Name)
		}
	}
	w := newWorld(t, cfg, nil, says("", question("May I approve it?")), says("it is fine"))
	if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
		t.Fatalf("%+v", out)
	}
	if r := w.journal.load()[0].Results[0]; r.ErrorCode != toolapi.CodeToolNotGranted {
		t.Errorf("%+v", r)
	}
}
