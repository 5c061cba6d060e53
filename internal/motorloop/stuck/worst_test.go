// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst checks that the comparison of arguments takes no more than the manager has for each of its loops.
func TestWorst(t *testing.T) {
	most := worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 24 << 20, Time: 20 * time.Second}
	for _, unit := range []string{"[", `{"":`, "[],", "{},", `"a":1,`, `"\u0000",`, "1,", `{"a":[`} {
		for _, before := range []string{"", `{"command":`, `{"command":[`} {
			args := before + strings.Repeat(unit, (toolapi.MaxArgumentsBytes-len(before))/len(unit))
			worst.Within(t, "arguments of "+before+unit, most, func() { canonical(args) })
		}
	}
	closed := `{"command":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + "}"
	worst.Within(t, "arguments that are nested", most, func() { canonical(closed) })
}
