// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/bench/figures"
)

// rounds are three rounds whose run takes 2, 3 and 4 times its Pod.
func rounds() (all []taken) {
	for i := range 3 {
		pod := time.Duration(100*(i+1)) * time.Millisecond
		all = append(all, taken{
			pod: pod, volume: pod, create: 10 * time.Millisecond, oneshot: 5 * pod, answered: 20 * time.Millisecond, step: 31 * time.Millisecond,
			path: map[Moment]time.Duration{PodCreated: 10 * time.Millisecond, FirstResult: time.Duration(i+2) * pod},
		})
	}
	return all
}

func TestFigures(t *testing.T) {
	r := figures.Report{Figures: figuresOf(rounds()), Path: pathOf(rounds(), func(t taken) map[Moment]time.Duration { return t.path })}
	f := r.Figures[3]
	if f.P50 != 600 || f.P95 != 1200 || f.Ratio != 3 || f.Bound != 450 {
		t.Errorf("the first result is %+v", f)
	}
	missed := r.Missed()
	if len(missed) != 2 || !strings.HasPrefix(missed[0], "run created → first tool result: 600.0 ms") || !strings.HasPrefix(missed[1], "step, outside of model and tools: 31.0 ms") {
		t.Errorf("missed: %q", missed)
	}
	if len(r.Path) != 2 || r.Path[0] != (figures.Mark{Moment: string(PodCreated), P50: 10}) || r.Path[1] != (figures.Mark{Moment: string(FirstResult), P50: 600}) {
		t.Errorf("the path is %v", r.Path)
	}
	table := r.Table()
	for _, want := range []string{"run created → first tool result", "3.00", "at most 450.0 ms (the plain Pod's time and 250 ms)", "10.0  sandbox Pod created"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
}
