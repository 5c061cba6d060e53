// SPDX-License-Identifier: Apache-2.0

// Package figures has the figures of a benchmark: how they are made of rounds, shown, written, and compared with earlier ones.
package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// noise is how much worse than before a ratio may be: two measurements of the same program differ by so much on a quiet machine.
const noise = 1.25

// Figure is one thing that was measured, over all rounds.
type Figure struct {
	Name string `json:"name"`
	// P50 and P95 are in milliseconds.
	P50 float64 `json:"p50Milliseconds"`
	P95 float64 `json:"p95Milliseconds"`
	// Ratio is the median over the rounds of this time divided by the one that it is compared with in the same round, 0 if with none.
	Ratio float64 `json:"ratio,omitempty"`
	// Over names what Ratio divides by.
	Over string `json:"over,omitempty"`
	// Bound is the most that P50 may be in milliseconds, 0 for no bound.
	Bound float64 `json:"boundMilliseconds,omitempty"`
	// Why is what the bound is.
	Why string `json:"why,omitempty"`
}

// Mark is a moment of a run, and when it comes.
type Mark struct {
	Moment string  `json:"moment"`
	P50    float64 `json:"p50Milliseconds"`
}

// Report is what a measurement found.
type Report struct {
	Date    string   `json:"date"`
	Machine string   `json:"machine,omitempty"`
	Rounds  int      `json:"rounds"`
	Figures []Figure `json:"figures"`
	// Path has the moments of a run that makes one call.
	Path []Mark `json:"path"`
	// Warm has those of a run that takes its sandbox from a pool.
	Warm []Mark `json:"warmPath,omitempty"`
}

// Quantile returns the value below which so much of all lies, 0 for none.
func Quantile[T ~int64 | ~float64](all []T, of float64) T {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(math.Ceil(of*float64(len(sorted))))-1)]
}

// Of sums up the times of all rounds.
func Of(name string, all []time.Duration) Figure {
	return Figure{Name: name, P50: tenth(Milliseconds(Quantile(all, 0.5))), P95: tenth(Milliseconds(Quantile(all, 0.95)))}
}

// Milliseconds returns a time in milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func tenth(x float64) float64 { return math.Round(10*x) / 10 }

// Against gives a figure its ratio to another one of the same rounds. A round that has no time of the other one has no ratio.
func (f Figure) Against(name string, all, others []time.Duration) Figure {
	var ratios []float64
	for i, t := range all {
		if others[i] > 0 {
			ratios = append(ratios, float64(t)/float64(others[i]))
		}
	}
	f.Ratio, f.Over = math.Round(100*Quantile(ratios, 0.5))/100, name
	return f
}

// Within gives a figure its bound.
func (f Figure) Within(bound float64, why string) Figure {
	f.Bound, f.Why = tenth(bound), why
	return f
}

// Table returns the report for people.
func (r *Report) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-42s %9s %9s %7s  %s\n", "figure", "p50 ms", "p95 ms", "ratio", "must be at most")
	for _, f := range r.Figures {
		ratio, bound := "", ""
		if f.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", f.Ratio)
		}
		if f.Bound > 0 {
			bound = fmt.Sprintf("%.1f ms: %s", f.Bound, f.Why)
		}
		fmt.Fprintf(&b, "%-42s %9.1f %9.1f %7s  %s\n", f.Name, f.P50, f.P95, ratio, bound)
	}
	b.WriteString("\na run, from its creation on, p50 ms\n")
	for _, m := range r.Path {
		fmt.Fprintf(&b, "%9.1f  %s\n", m.P50, m.Moment)
	}
	if len(r.Warm) > 0 {
		b.WriteString("\na run with a sandbox from a pool, from its creation on, p50 ms\n")
	}
	for _, m := range r.Warm {
		fmt.Fprintf(&b, "%9.1f  %s\n", m.P50, m.Moment)
	}
	return b.String()
}

// Missed returns a line for each figure that is beyond its bound.
func (r *Report) Missed() (lines []string) {
	for _, f := range r.Figures {
		if f.Bound > 0 && f.P50 > f.Bound {
			lines = append(lines, fmt.Sprintf("%s: %.1f ms, and it must be at most %.1f ms (%s)", f.Name, f.P50, f.Bound, f.Why))
		}
	}
	return lines
}

// WorseThan returns a line for each ratio that is worse than in an earlier report, beyond noise. Times are those of a machine and are not
// compared with earlier ones.
func (r *Report) WorseThan(before *Report) (lines []string) {
	for _, f := range r.Figures {
		i := slices.IndexFunc(before.Figures, func(b Figure) bool { return b.Name == f.Name && b.Over == f.Over })
		if i >= 0 && before.Figures[i].Ratio > 0 && f.Ratio > noise*before.Figures[i].Ratio {
			lines = append(lines, fmt.Sprintf("%s: %.2f times %s, and it was %.2f times on %s", f.Name, f.Ratio, f.Over, before.Figures[i].Ratio, before.Date))
		}
	}
	return lines
}

// Write writes the report to a file as JSON.
func (r *Report) Write(file string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644) //nolint:gosec // The figures are for everybody.
}

// Read reads a report that Write wrote.
func Read(file string) (*Report, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("%s has no figures: %w", file, err)
	}
	return &r, nil
}
