// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst checks that the arguments of a call take no more than the manager has for each of its loops.
func TestWorst(t *testing.T) {
	most := worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 24 << 20, Time: 20 * time.Second}
	fill := func(before, unit string, size int) string {
		return before + strings.Repeat(unit, (size-len(before))/len(unit))
	}
	units := []string{"[", `{"":`, "[],", "{},", `"a":1,`, `"\u0000",`, "1,", `{"a":[`}
	for _, unit := range units {
		for _, before := range []string{"", `{"command":`, `{"command":[`} {
			args := fill(before, unit, toolapi.MaxArgumentsBytes)
			if unit == "[],{}," {
				args += "0]}"
			}
			worst.Within(t, "arguments of "+before+unit, most, func() {
				_ = catalog.Builtin().ValidateArguments(toolapi.ToolBash, args)
				replayableArguments(args)
				shortenArguments(args, 1<<10)
			})
		}
	}
	closed := `{"command":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + "}"
	worst.Within(t, "arguments that are nested", most, func() {
		if err := catalog.Builtin().ValidateArguments(toolapi.ToolBash, closed); err == nil || !strings.Contains(err.Error(), "nested") {
			t.Error(err)
		}
		replayableArguments(closed)
		shortenArguments(closed, 1<<10)
	})
}

// The longest attempt of the largest turns, in a window that is too small for any of them, is laid out quickly: that is done for
// each request.
func TestWorstView(t *testing.T) {
	arguments := fmt.Sprintf(`{"content":%q}`, strings.Repeat("a\n", 6000))
	output := strings.Repeat("<line>\n", 2300)
	var turns []*turn.Turn
	for i := range int32(50) {
		step := &turn.Turn{Index: i + 1, Content: strings.Repeat("text\n", 1000)}
		for n := range toolapi.MaxCalls {
			step.Calls = append(step.Calls, turn.Call{ModelID: fmt.Sprint(i, n), Tool: toolapi.ToolBash, Arguments: arguments})
			step.Results = append(step.Results, &toolapi.Result{OK: true, Output: fmt.Sprint(i, n, output), Provenance: toolapi.ProvenanceWeb})
		}
		turns = append(turns, step)
	}
	for _, window := range []int64{4000, 128_000, 1 << 40} {
		cfg := config.Config{Task: "the task", Tools: []string{toolapi.ToolBash}, Window: window}
		worst.Within(t, fmt.Sprintf("a window of %d", window), worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 192 << 20, Time: 10 * time.Second}, func() {
			Transcript(cfg, turns)
		})
	}
}
