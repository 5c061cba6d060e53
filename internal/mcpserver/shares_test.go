// SPDX-License-Identifier: Apache-2.0

package mcpserver

import "testing"

// One user leaves something for others, and what is given back can be taken again.
func TestShares(t *testing.T) {
	t.Parallel()
	s := NewShares(5, 3)
	for i, tt := range []struct {
		user string
		much int64
		want bool
	}{{"a", 2, true}, {"a", 2, false}, {"a", 1, true}, {"b", 3, false}, {"b", 2, true}, {"c", 1, false}} {
		if got := s.Take(tt.user, tt.much); got != tt.want {
			t.Errorf("%d: %s takes %d: %t", i, tt.user, tt.much, got)
		}
	}
	s.Give("a", 2)
	s.Give("a", 1)
	if !s.Take("c", 3) || s.Take("a", 1) {
		t.Error("what is given back cannot be taken, or more than that")
	}
	s.Give("b", 2)
	s.Give("c", 3)
	if len(s.by) != 0 || s.used != 0 {
		t.Errorf("%v are left, and %d", s.by, s.used)
	}
}
