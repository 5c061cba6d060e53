// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestBytesAreRoundedToATenthOfTheirUnit(t *testing.T) {
	t.Parallel()
	if got := mib(60.26 * (1 << 20)); got != 60.3 {
		t.Errorf("%g MiB, want 60.3", got)
	}
	if got := kib(3.96 * (1 << 10)); got != 4 {
		t.Errorf("%g KiB, want 4", got)
	}
}
