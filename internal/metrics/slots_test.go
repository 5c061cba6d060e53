// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestSlotsAreShownAsTheyAreNow(t *testing.T) {
	t.Parallel()
	to, slots := prometheus.NewRegistry(), Slots{Limit: 32}
	must(t, RegisterSlots(to, func() Slots { return slots }))
	slots = Slots{Running: 7, Looks: 2, Waiting: 1, Limit: 32}
	has(t, to, `
		motorcortex_loops 7
		motorcortex_loops_looking 2
		motorcortex_loops_waiting 1
		motorcortex_loops_limit 32
	`, "motorcortex_loops", "motorcortex_loops_looking", "motorcortex_loops_waiting", "motorcortex_loops_limit")
}
