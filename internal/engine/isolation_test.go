// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestConfirmationTakesTriesAndTime(t *testing.T) {
	t.Parallel()
	type try struct {
		blocked      bool
		began, ended time.Duration
	}
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		tries []try
		want  bool
	}{
		"three over 100 ms":       {[]try{{true, 0, 5 * ms}, {true, 55 * ms, 60 * ms}, {true, 110 * ms, 115 * ms}}, true},
		"three in less":           {[]try{{true, 0, 5 * ms}, {true, 50 * ms, 55 * ms}, {true, 104 * ms, 200 * ms}}, false},
		"the first one was long":  {[]try{{true, 0, 100 * ms}, {true, 101 * ms, 102 * ms}, {true, 150 * ms, 151 * ms}}, false},
		"two over a long time":    {[]try{{true, 0, 5 * ms}, {true, 500 * ms, 505 * ms}}, false},
		"a fourth makes it long":  {[]try{{true, 0, 1 * ms}, {true, 30 * ms, 31 * ms}, {true, 60 * ms, 61 * ms}, {true, 101 * ms, 102 * ms}}, true},
		"open in between":         {[]try{{true, 0, 5 * ms}, {false, 55 * ms, 60 * ms}, {true, 110 * ms, 115 * ms}, {true, 160 * ms, 165 * ms}}, false},
		"open at last":            {[]try{{true, 0, 5 * ms}, {true, 55 * ms, 60 * ms}, {false, 110 * ms, 115 * ms}}, false},
		"open first, then enough": {[]try{{false, 0, 5 * ms}, {true, 50 * ms, 51 * ms}, {true, 100 * ms, 101 * ms}, {true, 151 * ms, 152 * ms}}, true},
	} {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var c confirmation
		got := false
		for _, try := range tt.tries {
			got = c.add(try.blocked, start.Add(try.began), start.Add(try.ended))
		}
		if got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestForbiddenHasTheNode(t *testing.T) {
	t.Parallel()
	common := []toolapi.ProbeTarget{{Name: "c", Network: "tcp", Address: "10.0.0.1:1"}}
	for node, want := range map[string][]string{
		"":            nil,
		"10.1.2.3":    {"10.1.2.3:10250", "10.1.2.3:6443", "[::ffff:10.1.2.3]:10250", "[64:ff9b::a01:203]:10250"},
		"fd00::1:2:3": {"[fd00::1:2:3]:10250", "[fd00::1:2:3]:6443"},
	} {
		var got []string
		for _, target := range forbidden(common, node)[1:] {
			got = append(got, target.Address)
		}
		if !slices.Equal(got, want) {
			t.Errorf("of the node %q: %q", node, got)
		}
	}
	if len(common) != 1 {
		t.Error("the common ones were changed")
	}
}
