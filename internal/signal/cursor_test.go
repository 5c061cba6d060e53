// SPDX-License-Identifier: Apache-2.0

package signal

import "testing"

func TestPositionAfter(t *testing.T) {
	t.Parallel()
	inOrder := []Position{{}, {1, 1}, {1, 2}, {2, 1}, {2, 10}, {10, 1}}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := a.After(b); got != (i > j) {
				t.Errorf("%v after %v: %t", a, b, got)
			}
		}
	}
}
