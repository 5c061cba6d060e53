// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/oneshot"
	"motorcortex.dev/motorcortex/internal/text"
)

// Every status is made printable by one of these functions before it is compared with the stored one. Events are derived from it, so they are
// printable too. A model, a host or a skill's author worded much of the text, and a person reads it on a terminal: a question that clears the
// screen could look like an approval. The whole text stays in the step.

// PrintRun makes the texts of the status of a run printable.
func PrintRun(st *v1alpha1.MotorRunStatus) {
	value := ""
	if st.Result != nil {
		value = st.Result.Value
	}
	text.ShowAll(st)
	if value != "" {
		st.Result.Value = printJSON(value)
	}
}

// PrintSkill makes the texts of the status of a skill printable.
func PrintSkill(st *v1alpha1.SkillStatus) { text.ShowAll(st) }

// PrintRevision makes the texts of the status of a revision printable.
func PrintRevision(st *v1alpha1.SkillRevisionStatus) { text.ShowAll(st) }

// printJSON makes JSON printable without changing its meaning, if it fits.
func printJSON(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch shown := text.Shown(string(c)); {
		case shown == string(c):
			b.WriteRune(c)
		case c > 0xFFFF:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+c>>10, 0xDC00+c&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	if !oneshot.Fits(b.String()) {
		return text.Shown(s)
	}
	return b.String()
}
