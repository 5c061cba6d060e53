// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestProgramNote(t *testing.T) {
	t.Parallel()
	c := turn.Call{ID: "a1-s1-c0", Arguments: `{"command":"echo \"]\"\n\u0007` + strings.Repeat("x", 500) + `"}`}
	seen := map[string]bool{}
	for _, reason := range []string{
		"", toolapi.StoppedSuspended, toolapi.StoppedAwaitingInput, toolapi.StoppedIsolationLost, toolapi.StoppedWayOut, toolapi.StoppedFinished, "Other",
	} {
		note := ProgramNote(c, reason)
		if seen[note] || !strings.Contains(note, "call a1-s1-c0 ") || strings.ContainsAny(note, "\n\a") || len(note) > 600 {
			t.Errorf("%q: %q", reason, note)
		}
		seen[note] = true
	}
	if note := ProgramNote(c, ""); !strings.Contains(note, "it is lost: ") {
		t.Errorf("of one that is lost: %q", note)
	}
	if note := ProgramNote(turn.Call{ID: "a", Arguments: "{"}, ""); !strings.HasSuffix(note, `as data: ""]`) {
		t.Errorf("%q", note)
	}
}

// The model reads a note with the results of its turn, and roles alternate as before.
func TestNotesAreTold(t *testing.T) {
	t.Parallel()
	step := &turn.Turn{
		Index: 1, Calls: []turn.Call{{ID: "a1-s1-c0", ModelID: "m", Tool: "bash", Arguments: "{}"}},
		Results: []*toolapi.Result{{OK: true, Output: "fine", Provenance: toolapi.ProvenanceInternal}},
	}
	before := Transcript(config.Config{}, []*turn.Turn{step})
	step.Notes = []string{"[one]", "[two]"}
	after := Transcript(config.Config{}, []*turn.Turn{step})
	if len(before) != len(after) {
		t.Fatalf("%d messages, and %d with notes", len(before), len(after))
	}
	last := len(after) - 1
	if got, want := after[last].Content, before[last].Content+"\n[one]\n[two]"; got != want || after[last].Role != chat.RoleTool {
		t.Errorf("%s %q, want %q", after[last].Role, got, want)
	}
}
