// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst has a request for a domain take no more than the manager has for each of its loops.
func TestWorst(t *testing.T) {
	most := worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 8 << 20, Time: 20 * time.Second}
	fill := func(before, unit string, size int) string {
		return before + strings.Repeat(unit, (size-len(before))/len(unit))
	}
	for _, unit := range []string{"[", `{"":`, "[],", "{},", `"a":1,`, `"\u0000",`, `\u202e`, "\u202e", "1,", "1", " ", `{"a":[`, "\xff"} {
		for _, before := range []string{"", `{"domain":`, `{"domain":[`, `{"domain":"`, `{"reason":{"`, `{`} {
			for _, size := range []int{MaxRequestDomainBytes, toolapi.MaxArgumentsBytes} {
				args := fill(before, unit, size)
				worst.Within(t, "the request "+before+unit, most, func() { _, _, _ = parseDomainRequest(args) })
			}
		}
	}
}
