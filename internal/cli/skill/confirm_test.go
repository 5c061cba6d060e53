// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"testing"

	"motorcortex.dev/motorcortex/internal/skill"
)

// An approval at a terminal is of what the person was shown just before, with the policy as it will be.
func TestApproveShowsWhatItIsAndAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.types = "n\n"
	r.want(1, []string{"approve", "weather", "--add-domain", "b.example.org"}, "- b.example.org", "Approve the content of "+r.first.Name+" with this policy? [y/N] ", "nothing was sent")
	r.want(1, []string{"approve", "weather"}, "-echo one", "+echo <U+001B>[31mtwo", "nothing was sent")
	if len(r.patches) > 0 {
		t.Errorf("sent are %s", r.patches)
	}
	r.types = "y\n"
	r.want(0, []string{"approve", "weather"}, "contentHash: "+r.second.Spec.ContentHash)
	r.types = "n\n"
	r.want(1, []string{"revoke", "weather"}, "Take the approval of ns/weather back", "nothing was sent")
	if len(r.patches) != 1 {
		t.Errorf("sent are %s", r.patches)
	}
	r.types = ""
	r.want(0, []string{"revoke", "weather"}, "revokedBy:   alice")
}

// Without a terminal, an approval is of hashes that the person has seen.
func TestApproveWithoutATerminalNeedsBothHashes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.types = ""
	content, policy := r.second.Spec.ContentHash, skill.PolicyHash(&r.skill().Spec.Policy)
	for _, args := range [][]string{nil, {"--content-hash", content}, {"--policy-hash", policy}, {"--revision", r.second.Name}} {
		r.want(4, append([]string{"approve", "weather"}, args...), "there is no terminal to ask at", "kubectl motor skill review weather -n ns --revision "+r.second.Name, "--content-hash and --policy-hash")
	}
	r.mayNot = true
	r.want(1, []string{"approve", "weather"}, "you may not approve the Skill ns/weather. Have the ClusterRole motorcortex-skill-approver bound to you in the namespace ns")
	if len(r.patches) > 0 {
		t.Errorf("sent are %s", r.patches)
	}
	r.want(0, []string{"approve", "weather", "--content-hash", content, "--policy-hash", policy}, "contentHash: "+content)
}
