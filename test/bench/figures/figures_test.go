// SPDX-License-Identifier: Apache-2.0

package figures

import (
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
	return Of("Oneshot", all).Against("plain Pod", Of("plain Pod", pods))
}

// tunnel is a figure that is half of its pair, and as often more as times says.
func tunnel(times float64) Figure {
	return Rate("tunnel", "GiB/s", []float64{1 * times, 2 * times, 1.5 * times}).Against("direct", Rate("direct", "GiB/s", []float64{2, 4, 3}))
}

func TestFigures(t *testing.T) {
	for name, tt := range map[string]struct {
		f                 Figure
		p50, p95, ratio   float64
		measurements      int
		missed, tableLine string
	}{
		"times":            {f: oneshot(1), p50: 1000, p95: 1500, ratio: 5, measurements: 3, tableLine: "1000.0    1500.0 ms        5.00"},
		"a time in time":   {f: oneshot(1).Within(1000, "the bound"), p50: 1000, p95: 1500, ratio: 5, measurements: 3, tableLine: "at most 1000.0 ms (the bound)"},
		"a time too late":  {f: oneshot(1).Within(999, "the bound"), p50: 1000, p95: 1500, ratio: 5, measurements: 3, missed: "Oneshot: 1000.0 ms, and it must be at most 999.0 ms (the bound)"},
		"enough":           {f: tunnel(1).Within(1.5, "half"), p50: 1.5, p95: 1, ratio: 0.5, measurements: 3, tableLine: "at least 1.50 GiB/s (half)"},
		"not enough":       {f: tunnel(1).Within(1.51, "half"), p50: 1.5, p95: 1, ratio: 0.5, measurements: 3, missed: "tunnel: 1.50 GiB/s, and it must be at least 1.51 GiB/s (half)"},
		"a small time":     {f: Of("connect", []time.Duration{123456}), p50: 0.123, p95: 0.123, measurements: 1, tableLine: "0.123     0.123 ms"},
		"nothing measured": {f: Of("connect", nil), tableLine: "0.000     0.000 ms"},
		"a pair with zero": {f: Of("a", []time.Duration{6e6, 4e6}).Against("b", Of("b", []time.Duration{0, 2e6})), p50: 4, p95: 6, ratio: 2, measurements: 2},
		"a pair of fewer":  {f: Of("a", []time.Duration{6e6, 4e6}).Against("b", Of("b", []time.Duration{2e6})), p50: 4, p95: 6, ratio: 3, measurements: 2},
	} {
		if tt.f.P50 != tt.p50 || tt.f.P95 != tt.p95 || tt.f.Ratio != tt.ratio || tt.f.Of != tt.measurements {
			t.Errorf("%s: %+v", name, tt.f)
		}
		r := Report{Figures: []Figure{tt.f}}
		if got := strings.Join(r.Missed(), "\n"); got != tt.missed {
			t.Errorf("%s: missed %q", name, got)
		}
		if got := r.Table(); !strings.Contains(got, tt.tableLine) {
			t.Errorf("%s: the table has no %q:\n%s", name, tt.tableLine, got)
		}
	}
}

func TestWorseThan(t *testing.T) {
	before := &Report{Date: "2026-11-22", Figures: []Figure{oneshot(1), tunnel(1), Of("a time alone", []time.Duration{1})}}
	for name, tt := range map[string]struct {
		times float64
		of    func(float64) Figure
		want  string
	}{
		"the same":             {1, oneshot, ""},
		"noise":                {1.2, oneshot, ""},
		"better":               {0.5, oneshot, ""},
		"worse":                {1.3, oneshot, "Oneshot: 6.50 times plain Pod, and it was 5.00 times on 2026-11-22"},
		"a worse peer":         {1.3, func(times float64) Figure { return oneshot(times).OfPeer() }, ""},
		"as much":              {1, tunnel, ""},
		"a little less":        {0.9, tunnel, ""},
		"more":                 {2, tunnel, ""},
		"less":                 {0.5, tunnel, "tunnel: 0.25 times direct, and it was 0.50 times on 2026-11-22"},
		"without a comparison": {1, func(float64) Figure { return Of("a time alone", []time.Duration{100}) }, ""},
		"new":                  {1, func(float64) Figure { return Of("new", []time.Duration{100}) }, ""},
	} {
		now := Report{Figures: []Figure{tt.of(tt.times)}}
		if got := strings.Join(now.WorseThan(before), "\n"); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
