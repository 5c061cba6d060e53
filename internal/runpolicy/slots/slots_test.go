// SPDX-License-Identifier: Apache-2.0

package slots_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/internal/runpolicy/slots"
)

// The first run of the namespace with the fewest slots is next, and each slot that is given counts for the next one.
func TestShare(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		total                int
		has                  map[string]int
		waiting, given, next string
	}{
		"nothing waits":                 {4, nil, "", "", ""},
		"by age":                        {4, nil, "a/3 a/1 a/2", "a/1 a/2 a/3", ""},
		"by priority, then by age":      {4, nil, "a/1 a/2 a/3!", "a/3! a/1 a/2", ""},
		"of one second by name":         {4, nil, "a/1y a/1x", "a/1x a/1y", ""},
		"namespaces take turns":         {8, nil, "a/1 a/2 a/3 b/4 b/5", "a/1 b/4 a/2 b/5 a/3", ""},
		"who has fewer comes first":     {8, map[string]int{"a": 2}, "a/1 a/2 b/7 b/8 b/9", "b/7 b/8 a/1 b/9", "a/2"},
		"a quarter is for first runs":   {8, map[string]int{"a": 5}, "a/1 a/2", "a/1", "a/2"},
		"who has none gets it":          {8, map[string]int{"a": 6}, "a/1 b/8 c/9 d/9", "b/8 c/9", "d/9 a/1"},
		"but no second one":             {8, map[string]int{"a": 6}, "b/1 b/2", "b/1", "b/2"},
		"none is left":                  {4, map[string]int{"a": 3, "b": 1}, "c/1 a/2 b/3", "", "c/1 b/3 a/2"},
		"more are taken than there are": {2, map[string]int{"a": 5}, "b/1", "", "b/1"},
		"one slot":                      {1, nil, "a/1 b/2", "a/1", "b/2"},
	} {
		var waiting []slots.Run
		for word := range strings.FieldsSeq(tt.waiting) {
			namespace, name, _ := strings.Cut(word, "/")
			run := slots.Run{Key: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(word), Created: time.Unix(int64(name[0]), 0)}
			if strings.HasSuffix(name, "!") {
				run.Priority = 1
			}
			waiting = append(waiting, run)
		}
		given, next := slots.Share(tt.has, waiting, tt.total)
		if got := names(given) + ", " + names(next); got != tt.given+", "+tt.next {
			t.Errorf("%s: %q, want %q", name, got, tt.given+", "+tt.next)
		}
	}
}

func names(runs []slots.Run) string {
	var all []string
	for _, run := range runs {
		all = append(all, string(run.UID))
	}
	return strings.Join(all, " ")
}

func TestMessage(t *testing.T) {
	t.Parallel()
	for position, want := range map[int]string{1: "number 1.", 10: "number 10.", 11: "among the first 20.", 20: "among the first 20.", 21: "among the first 40.", 41: "among the first 80."} {
		if got := slots.Message(position, 8); !strings.Contains(got, "replicas, 8, are") || !strings.Contains(got, "the run is "+want) {
			t.Errorf("%d: %s", position, got)
		}
	}
}

// The worst queue is ordered in each pass of a run that waits.
func BenchmarkShare(b *testing.B) {
	var waiting []slots.Run
	for i := range 10_000 {
		waiting = append(waiting, slots.Run{Key: types.NamespacedName{Namespace: fmt.Sprint(i % 100), Name: fmt.Sprint(i)}, Created: time.Unix(int64(i*7919%10_000), 0)})
	}
	for b.Loop() {
		slots.Share(nil, waiting, 1000)
	}
}
