// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst checks that the schema of a tool takes no more than the manager has for each of its loops.
func TestWorst(t *testing.T) {
	most := worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 24 << 20, Time: 20 * time.Second}
	fill := func(before, unit string, size int) string {
		return before + strings.Repeat(unit, (size-len(before))/len(unit))
	}
	for _, schema := range []string{
		fill(`{"type":"object","allOf":[`, `{},`, toolapi.MaxMCPSchema-2) + "{}]}", fill(`{"not":`, `{"not":`, toolapi.MaxMCPSchema/2) + strings.Repeat("}", toolapi.MaxMCPSchema/14),
		`{"type":"object","patternProperties":{"(a{1,1000}){1,1000}":{}}}`, `{"pattern":"((((a{100}){100}){100}){100})"}`, `{"type":"object","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`,
	} {
		worst.Within(t, "the schema "+schema[:min(len(schema), 40)], most, func() {
			_ = checkServerArguments(json.RawMessage(schema), map[string]any{"a": strings.Repeat("a", 10_000)}, 10_000)
		})
	}
}
