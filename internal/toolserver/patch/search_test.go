// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"slices"
	"testing"
)

func TestSectionLines(t *testing.T) {
	all := []string{"class AB:\n", "  class A(B):\n", "class A\n", "# class A\n", "\tclass A\r\n"}
	for name, want := range map[string][]int{"class A": {2, 4}, "class AB": {0}, "class A(": {1}, "# cl": {3}, "A(B)": {1}, "lass": {0, 1, 2, 3, 4}, "none": nil} {
		if got := sectionLines(all, name); !slices.Equal(got, want) {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestFollowing(t *testing.T) {
	for _, test := range []struct{ found, above, want []int }{
		{[]int{1, 5, 9}, []int{0, 4, 8}, []int{1, 5, 9}},
		{[]int{1, 5, 9}, []int{1, 2, 9}, []int{5}},
		{[]int{1}, []int{1}, nil},
		{nil, []int{1}, nil},
	} {
		if got := following(test.found, test.above); !slices.Equal(got, test.want) {
			t.Errorf("%v below %v: %v", test.found, test.above, got)
		}
	}
}

func TestLoosely(t *testing.T) {
	got := loosely([]string{"a \t\r\n", "  b", "“it’s”\u00a0–\n", ""})
	if want := []string{"a", "  b", "\"it's\" -", ""}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
