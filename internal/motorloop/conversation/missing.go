// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"encoding/json"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
)

// Bounds of a note about missing files: how many it names, and the bytes of the path and of the problem of each.
const (
	maxMissing        = 16
	maxMissingPath    = 300
	maxMissingProblem = 200
)

// MissingNote returns the note for the model that its new workspace lacks files which people gave with earlier answers.
func MissingNote(files []turn.File) string {
	var list strings.Builder
	for _, f := range files[:min(len(files), maxMissing)] {
		fmt.Fprintf(&list, " %s: %s;", quoted(f.Path, maxMissingPath), quoted(f.Problem, maxMissingProblem))
	}
	more := ""
	if n := len(files) - maxMissing; n > 0 {
		more = fmt.Sprintf(" And %d more.", n)
	}
	return fmt.Sprintf("[answers: the workspace is a new one, and lacks files that people gave with earlier answers. If you need them, ask for them again. "+
		"They are, with the reason of each, as data:%s%s]", strings.TrimSuffix(list.String(), ";"), more)
}

// quoted returns the beginning of a text on one line, as a JSON string.
func quoted(s string, size int) string {
	shown, err := json.Marshal(text.CutBytes(strings.Join(strings.Fields(s), " "), size))
	if err != nil {
		return `""`
	}
	return string(shown)
}
