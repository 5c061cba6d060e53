// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

func TestNamesOfAnyKindAreLabels(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"a name":           {"gpt-4o", "gpt-4o"},
		"nothing":          {"", "none"},
		"invalid bytes":    {"a\xff", "a\uFFFD"},
		"control bytes":    {"a\x1b[31m", "a\uFFFD[31m"},
		"more than enough": {strings.Repeat("a", 10_000), strings.Repeat("a", maxValue-len("…")) + "…"},
	} {
		if got := clean(tt.in); got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestTheFirstNamesHaveTheirOwnValue(t *testing.T) {
	t.Parallel()
	l := newLabels(2)
	for i, tt := range []struct{ in, want string }{{"a", "a"}, {"b", "b"}, {"c", other}, {"a", "a"}, {"", other}, {"b", "b"}} {
		if got := l.of(tt.in); got != tt.want {
			t.Errorf("%d: %q is %q, want %q", i, tt.in, got, tt.want)
		}
	}
}

func TestManyAtOnceAreStillBounded(t *testing.T) {
	t.Parallel()
	l, seen := newLabels(8), sync.Map{}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 1000 {
				seen.Store(l.of(strconv.Itoa(g*1000+i)), true)
			}
		})
	}
	all.Wait()
	n := 0
	seen.Range(func(any, any) bool { n++; return true })
	if n != 9 {
		t.Errorf("%d values, want 8 and %q", n, other)
	}
}

func TestPlaceIsFreeAgainWhenItIsUnused(t *testing.T) {
	t.Parallel()
	var freed []string
	now := time.Unix(1000, 0)
	b := bounded[string]{most: 3, now: func() time.Time { return now }, freed: func(v string) { freed = append(freed, v) }}
	b.reserve("reserved")
	for i, tt := range []struct {
		value string
		later time.Duration
		want  bool
	}{
		{"a", 0, true}, {"b", time.Minute, true}, {"c", time.Minute, false}, {"a", unusedFor - 2*time.Minute, true}, {"c", 0, false},
		{"c", time.Minute, true}, {"b", 0, false}, {"a", 0, true}, {"reserved", 3 * unusedFor, true}, {"d", 0, true}, {"e", 0, true}, {"f", 0, false},
	} {
		now = now.Add(tt.later)
		if got := b.admits(tt.value); got != tt.want || b.has(tt.value) != tt.want {
			t.Errorf("%d: %s has a place: %t", i, tt.value, got)
		}
	}
	if !slices.Equal(freed, []string{"b", "c", "a"}) && !slices.Equal(freed, []string{"b", "a", "c"}) {
		t.Errorf("freed were %q", freed)
	}
}
