// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// numbered are n turns with one call each.
func numbered(n int) []*turn.Turn {
	var turns []*turn.Turn
	for i := range n {
		id := fmt.Sprintf("id%d", i+1)
		turns = append(turns, &turn.Turn{
			Index: int32(i + 1), Content: fmt.Sprintf("text %d", i+1),
			Calls:   []turn.Call{{ModelID: id, Tool: "bash", Arguments: fmt.Sprintf(`{"command":"do %d"}`, i+1)}},
			Results: []*toolapi.Result{{OK: true, Output: fmt.Sprintf("out %d", i+1)}},
		})
	}
	return turns
}

// A summary of our own retains its newest lines and the previous summary, and stays within its bounds.
func TestOwnSummaryIsBounded(t *testing.T) {
	turns := numbered(10)
	for _, step := range turns {
		for range 15 {
			step.Calls = append(step.Calls, turn.Call{Tool: "bash", Arguments: strings.Repeat("\x00<", 5000)})
			step.Results = append(step.Results, &toolapi.Result{ErrorCode: "exit_1", Output: strings.Repeat("\"\n", 5000)})
		}
	}
	small := numbered(13)[10:]
	s := &turn.Turn{Index: 11, Through: 7, Content: strings.Repeat("before ", 2000)}
	for i, step := range small {
		step.Index = int32(12 + i)
	}
	all := append(append(turns, s), small...)
	got := ownSummary(all, 14, maxSummary)
	if len(got) > maxSummary || !strings.HasPrefix(got, "before ") || !strings.Contains(got, "do 13") || !strings.Contains(got, "[3 earlier ones are left out]\n") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
}
