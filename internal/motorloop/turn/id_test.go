// SPDX-License-Identifier: Apache-2.0

package turn

import "testing"

func TestExecutionID(t *testing.T) {
	for n, want := range []string{"a1-s1-c0", "a1-s1-c0-r1", "a1-s1-c0-r2"} {
		if got := ExecutionID("a1-s1-c0", n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
