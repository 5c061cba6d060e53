// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// A comment above the Skill is a document of its own. Taken for the policy, it would be an empty one, with another hash than the policy has.
func TestThePolicyIsThatOfTheFirstSkill(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	want := skill.PolicyHash(&v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"read"}})
	const one = policyHead + "    tools: [read]\n"
	for name, tt := range map[string]struct {
		text string
		code int
		says string
	}{
		"a Skill":             {one, 0, want},
		"below a comment":     {"# Ours.\n---\n" + one, 0, want},
		"below another kind":  {"kind: ConfigMap\n---\n" + one, 0, want},
		"the policy alone":    {"tools: [read]\n", 0, want},
		"an empty policy":     {"{}\n", 0, skill.PolicyHash(nil)},
		"nothing":             {"", 1, "there is no Skill in it"},
		"a comment":           {"# Ours.\n", 1, "there is no Skill in it"},
		"more than there may": {strings.Repeat("#", 5<<20), 1, "has more than 4 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "weather")
			fill(t, dir, map[string]string{"SKILL.md": manifest, "../policy.yaml": tt.text})
			r.want(tt.code, []string{"hash", dir, "--policy", filepath.Join(dir, "..", "policy.yaml")}, tt.says)
		})
	}
}
