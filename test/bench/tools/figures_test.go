// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/bench/figures"
)

func TestFigures(t *testing.T) {
	t.Parallel()
	list := func(ms ...int) (all []time.Duration) {
		for _, n := range ms {
			all = append(all, time.Duration(n)*time.Millisecond)
		}
		return all
	}
	for name, tt := range map[string]struct {
		t      taken
		idle   []memory
		missed []string
	}{
		"as it must be":      {taken{list(3, 3), list(4, 4), list(80, 80)}, []memory{{12 << 20, 9 << 20}}, nil},
		"a slow call":        {taken{list(3, 3), list(5, 5), list(100, 100)}, []memory{{1 << 20, 1 << 20}}, []string{"tool call bash true: 5.00 ms"}},
		"a fast exec":        {taken{list(3, 3), list(4, 4), list(79, 79)}, []memory{{1 << 20, 1 << 20}}, []string{"kubectl exec of bash -c true: 79.0 ms"}},
		"a large sandbox":    {taken{list(3, 3), list(4, 4), list(80, 80)}, []memory{{13 << 20, 9 << 20}}, []string{"tool server of an idle sandbox, working set: 13.0 MiB"}},
		"one is not typical": {taken{list(3, 3, 3), list(4, 4, 40), list(80, 80, 80)}, []memory{{1 << 20, 1 << 20}, {1 << 20, 1 << 20}, {50 << 20, 1 << 20}}, nil},
	} {
		r := figures.Report{Figures: figuresOf(tt.t, tt.idle)}
		missed := r.Missed()
		if len(missed) != len(tt.missed) {
			t.Errorf("%s: %q", name, missed)
			continue
		}
		for i, m := range missed {
			if !strings.HasPrefix(m, tt.missed[i]) {
				t.Errorf("%s: %q", name, m)
			}
		}
	}
}
