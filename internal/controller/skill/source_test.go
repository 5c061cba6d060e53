// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"testing"
	"time"
)

// A source that cannot be read is tried ever less often.
func TestSourcePauses(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		0: time.Minute, 1: time.Minute, 2: 2 * time.Minute, 3: 4 * time.Minute, 4: 8 * time.Minute, 5: sourcePeriod, 1000: sourcePeriod,
	} {
		if got := sourcePauseAfter(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}
