// SPDX-License-Identifier: Apache-2.0

package script

import "testing"

// What the client says of the sandbox and of what is left makes neither another conversation nor another output.
func TestWhatIsSaidOfTheSandbox(t *testing.T) {
	t.Parallel()
	talk := func(environment, repository string) []Message {
		return []Message{{Role: "system", Content: "You carry out one task.\n" + repository + "\n# Environment\n" + environment + "\n\n# Tools\n- bash"}, {Role: RoleUser, Content: "x"}}
	}
	known := talk("- Debian\n- Python 3.13\n- There is no network.", "- If git log shows a commit \"x\", it has these files.\n")
	if conversationKey(known) != conversationKey(talk("- There is no network.", "")) {
		t.Error("another conversation")
	}
	for _, said := range []string{"out\n[left: 3 of 20 answers, 5 minutes]", "out\n[your next answer is the last one: call finish in it, with what there is]",
		"out\n[the person approved this call]\n[left: 3 of 20 answers]"} {
		if got := withoutLeft([]Message{{Role: RoleTool, Content: said}})[0].Content; got != "out" {
			t.Errorf("%q", got)
		}
	}
}
