// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

func TestQuantile(t *testing.T) {
	list := []int64{5, 1, 4, 2, 3}
	for of, want := range map[float64]int64{0.5: 3, 0.95: 5, 0.2: 1, 0.21: 2, 1: 5} {
		if got := quantile(list, of); got != want {
			t.Errorf("%g: %d, want %d", of, got, want)
		}
	}
	if got := quantile[int64](nil, 0.5); got != 0 {
		t.Errorf("none: %d", got)
	}
	if !slices.Equal(list, []int64{5, 1, 4, 2, 3}) {
		t.Errorf("quantile has sorted its argument: %v", list)
	}
}

func TestFigures(t *testing.T) {
	r := Report{Figures: figuresOf(rounds()), Path: pathOf(rounds(), func(t taken) map[Moment]time.Duration { return t.path })}
	f := r.Figures[3]
	if f.P50 != 600 || f.P95 != 1200 || f.Ratio != 3 || f.Bound != 450 {
		t.Errorf("the first result is %+v", f)
	}
	missed := r.missed()
	if len(missed) != 2 || !strings.HasPrefix(missed[0], "run created → first tool result: 600.0 ms") || !strings.HasPrefix(missed[1], "step, outside of model and tools: 31.0 ms") {
		t.Errorf("missed: %q", missed)
	}
	if len(r.Path) != 2 || r.Path[0] != (Mark{PodCreated, 10}) || r.Path[1] != (Mark{FirstResult, 600}) {
		t.Errorf("the path is %v", r.Path)
	}
	table := r.table()
	for _, want := range []string{"run created → first tool result", "3.00", "450.0 ms: the plain Pod's time and 250 ms", "10.0  sandbox Pod created"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
}

func TestWorseThan(t *testing.T) {
	before := Report{Date: "2026-11-22", Figures: figuresOf(rounds())}
	file := filepath.Join(t.TempDir(), "bench.json")
	if err := before.write(file); err != nil {
		t.Fatal(err)
	}
	read, err := readReport(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		times float64
		want  int
	}{"the same": {1, 0}, "noise": {1.2, 0}, "better": {0.5, 0}, "worse": {1.3, 1}} {
		slower := rounds()
		for i := range slower {
			slower[i].oneshot = time.Duration(tt.times * float64(slower[i].oneshot))
		}
		now := Report{Figures: figuresOf(slower)}
		if got := now.worseThan(read); len(got) != tt.want || tt.want > 0 && !strings.Contains(got[0], "6.50 times plain Pod, and it was 5.00 times on 2026-11-22") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := readReport(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}
