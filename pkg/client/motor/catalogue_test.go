// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestCallsAboutSkills(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", maxRead/2) + "end"
	for name, tt := range map[string]struct{ tool, arguments, want, says string }{
		"the catalogue":   {ToolSkill, `{"action":"list"}`, `{"skills":[{"name":"mail","state":"AwaitingApproval","usable":false,"revision":"mail-1","contentHash":"sha256:c","policyHash":"sha256:p","runs":0,"succeeded":0}],"total":1}`, ""},
		"a skill":         {ToolSkill, `{"action":"read","name":"mail"}`, `"files":[{"path":"SKILL.md","size":5,`, ""},
		"a file":          {ToolSkill, `{"action":"read","name":"mail","path":"SKILL.md"}`, `{"path":"SKILL.md","size":5,"offset":0,"content":"hello"}`, ""},
		"a part":          {ToolSkill, `{"action":"read","name":"mail","path":"SKILL.md","offset":3}`, `"content":"lo"}`, ""},
		"beyond":          {ToolSkill, `{"action":"read","name":"mail","path":"SKILL.md","offset":6}`, "", "is not within"},
		"a long file":     {ToolSkill, `{"action":"read","name":"mail","path":"long"}`, `"nextOffset":65536}`, ""},
		"its end":         {ToolSkill, `{"action":"read","name":"mail","path":"long","offset":65536}`, `"content":"end"}`, ""},
		"in a character":  {ToolSkill, `{"action":"read","name":"mail","path":"long","offset":1}`, "", "within a character"},
		"no text":         {ToolSkill, `{"action":"read","name":"mail","path":"binary"}`, "", "is no text"},
		"no skill":        {ToolSkill, `{"action":"read","name":"other"}`, "", "there is no skill other"},
		"a review":        {ToolSkill, `{"action":"review","name":"mail"}`, `"contentHash":"sha256:c2","policyHash":"sha256:p"`, ""},
		"a proposal":      {ToolSkill, `{"action":"propose","name":"new","files":[{"path":"SKILL.md","content":"x"}],"tools":["bash"]}`, `{"name":"new","state":"PendingReview","usable":false`, ""},
		"half a decision": {ToolSkill, `{"action":"approve","name":"mail","contentHash":"sha256:c"}`, "", "needs [contentHash policyHash]"},
		"an approval":     {ToolSkill, `{"action":"approve","name":"mail","contentHash":"sha256:c","policyHash":"sha256:p"}`, `{"name":"mail"`, ""},
		"a revocation":    {ToolSkill, `{"action":"revoke","name":"mail"}`, "", "has no approval"},
		"an empty update": {ToolSkill, `{"action":"update","name":"mail"}`, "", "needs [files, tools, domains or credentials]"},
		"an update":       {ToolSkill, `{"action":"update","name":"mail","credentials":[{"name":"key","hosts":["example.org"]}]}`, `{"name":"mail"`, ""},
		"a deletion":      {ToolSkill, `{"action":"delete","name":"mail"}`, `{"deleted":"mail"}`, ""},
		"a consolidation": {ToolConsolidate, `{"name":"new","runs":["a"],"files":[{"path":"SKILL.md","content":"x"}],"inputs":[{"name":"to","required":true}]}`, `"successRatePercent":100`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, aSkill(), aRun("a", ended(true))).named("dana")
			rev := r.revision(1<<20, v1alpha1.SkillFile{Path: manifest, Content: "hello"}, v1alpha1.SkillFile{Path: "long", Content: long}, v1alpha1.SkillFile{Path: "binary", Content: "\xff\x00"})
			rev.Spec.ContentHash = "sha256:c2"
			if err := r.motor.Tracker().Update(v1alpha1.GroupVersion.WithResource("skillrevisions"), rev, "ns"); err != nil {
				t.Fatal(err)
			}
			r.sends(nil)
			tools := &Toolset{Client: r.Client, Consent: func(context.Context, string, string) error { return nil }}
			value, err := tools.Call(t.Context(), tt.tool, json.RawMessage(tt.arguments), nil)
			if tt.says != "" {
				wantError(t, err, tt.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := json.Marshal(value); !strings.Contains(string(text), tt.want) {
				t.Errorf("%s, want %s", head(string(text), 2000), tt.want)
			}
		})
	}
}

// Only an approved skill brings its policy to a run.
func TestTheCatalogueSaysWhatIsTrusted(t *testing.T) {
	t.Parallel()
	for state, usable := range map[v1alpha1.SkillState]bool{
		"": false, v1alpha1.SkillPendingReview: false, v1alpha1.SkillAwaitingApproval: false, v1alpha1.SkillApproved: true,
		v1alpha1.SkillNeedsReapproval: false, v1alpha1.SkillRejected: false, v1alpha1.SkillRevoked: false,
	} {
		if s := SummarizeSkill(aSkill(func(s *v1alpha1.Skill) { s.Status.State = state })); s.Usable != usable {
			t.Errorf("%s: usable is %t", state, s.Usable)
		}
	}
}
