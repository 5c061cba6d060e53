// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	list := []int64{5, 1, 4, 2, 3}
	for of, want := range map[float64]int64{0.5: 3, 0.95: 5, 0.2: 1, 0.21: 2, 1: 5} {
		if got := Quantile(list, of); got != want {
			t.Errorf("%g: %d, want %d", of, got, want)
		}
	}
	if got := Quantile[int64](nil, 0.5); got != 0 {
		t.Errorf("none: %d", got)
	}
	if !slices.Equal(list, []int64{5, 1, 4, 2, 3}) {
		t.Errorf("Quantile has sorted its argument: %v", list)
	}
}

// oneshot is a figure that is five times its Pod, and as often slower as times says.
func oneshot(times float64) Figure {
	var all, pods []time.Duration
	for i := range 3 {
		pods = append(pods, time.Duration(100*(i+1))*time.Millisecond)
		all = append(all, time.Duration(5*times*float64(pods[i])))
	}
	return Of("Oneshot", all).Against("plain Pod", all, pods)
}

func TestWorseThan(t *testing.T) {
	before := Report{Date: "2026-11-22", Figures: []Figure{oneshot(1)}}
	file := filepath.Join(t.TempDir(), "bench.json")
	if err := before.Write(file); err != nil {
		t.Fatal(err)
	}
	read, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		times float64
		want  int
	}{"the same": {1, 0}, "noise": {1.2, 0}, "better": {0.5, 0}, "worse": {1.3, 1}} {
		now := Report{Figures: []Figure{oneshot(tt.times)}}
		if got := now.WorseThan(read); len(got) != tt.want || tt.want > 0 && !strings.Contains(got[0], "6.50 times plain Pod, and it was 5.00 times on 2026-11-22") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}
