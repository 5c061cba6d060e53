// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"testing"
	"time"
)

func TestInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Second: "1 seconds", 119 * time.Second: "119 seconds", 2 * time.Minute: "2 minutes", 179 * time.Minute: "179 minutes", 26 * time.Hour: "26 hours",
	} {
		if got := InWords(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
