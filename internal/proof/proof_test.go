// SPDX-License-Identifier: Apache-2.0

package proof

import (
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
		var c Confirmation
		got := false
		for _, try := range tt.tries {
			got = c.Add(try.blocked, start.Add(try.began), start.Add(try.ended))
		}
		if got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A tool server that is not used counts as proved under the conditions of the proof.
func TestHolds(t *testing.T) {
	t.Parallel()
	c := &toolapi.Confinement{}
	try := toolapi.ProbeRequest{Targets: []toolapi.ProbeTarget{{Name: "the node", Network: "tcp", Address: "10.0.0.1:1"}}}
	all := try.Digest()
	for name, tt := range map[string]struct {
		p    *toolapi.Probed
		want bool
	}{
		"an older tool server": {nil, false},
		"proved":               {&toolapi.Probed{Tries: 3, OverMs: 100, Targets: all, Confinement: c}, true},
		"other targets":        {&toolapi.Probed{Tries: 3, OverMs: 100, Targets: "x", Confinement: c}, false},
		"unnamed targets":      {&toolapi.Probed{Tries: 3, OverMs: 100, Confinement: c}, false},
		"a try is missing":     {&toolapi.Probed{Tries: 2, OverMs: 100, Targets: all, Confinement: c}, false},
		"cut off too early":    {&toolapi.Probed{Tries: 3, OverMs: 99, Targets: all, Confinement: c}, false},
		"no report":            {&toolapi.Probed{Tries: 3, OverMs: 100, Targets: all}, false},
		"no program may start": {&toolapi.Probed{Tries: 3, OverMs: 100, Targets: all, Confinement: &toolapi.Confinement{Refused: "no"}}, false},
	} {
		if got := Holds(tt.p, try); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
