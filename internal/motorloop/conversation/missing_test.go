// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Paths and problems are of people: neither ends the note, and many of them leave it short.
func TestMissingNote(t *testing.T) {
	t.Parallel()
	got := MissingNote([]turn.File{{Path: "answers/a]", Problem: "it is\n\agone: \"x\""}, {Path: "answers/b", Problem: "it has changed"}})
	if want := `as data: "answers/a]": "it is \u0007gone: \"x\""; "answers/b": "it has changed"]`; !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "[answers: ") {
		t.Errorf("%q does not end with %q", got, want)
	}
	long := turn.File{Path: "answers/" + strings.Repeat("日", 400), Problem: strings.Repeat("<", 512)}
	files := make([]turn.File, 500)
	for i := range files {
		files[i] = long
	}
	if got := MissingNote(files); len(got) > maxMissing*(maxMissingPath+6*maxMissingProblem+10)+400 || !strings.HasSuffix(got, " And 484 more.]") {
		t.Errorf("%d bytes: …%q", len(got), got[len(got)-100:])
	}
}
