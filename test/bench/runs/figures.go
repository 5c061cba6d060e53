// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
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
	Moment Moment  `json:"moment"`
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

// quantile returns the value below which so much of all lies, 0 for none.
func quantile[T ~int64 | ~float64](all []T, of float64) T {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(math.Ceil(of*float64(len(sorted))))-1)]
}

// figuresOf sums up the rounds.
func figuresOf(all []taken) []Figure {
	pod := func(t taken) time.Duration { return t.pod }
	create := func(t taken) time.Duration { return t.create }
	list := []Figure{
		figure("plain Pod, created → ready", all, pod),
		figure("Pod with an empty folder, created → ready", all, func(t taken) time.Duration { return t.volume }).
			over("plain Pod", all, func(t taken) time.Duration { return t.volume }, pod),
		figure("create of an object of 4 KiB", all, create),
		figure("run created → first tool result", all, func(t taken) time.Duration { return t.path[FirstResult] }).
			over("plain Pod", all, func(t taken) time.Duration { return t.path[FirstResult] }, pod).
			within(ms(quantile(durations(all, pod), 0.5))+250, "the plain Pod's time and 250 ms"),
		figure("Oneshot run created → result", all, func(t taken) time.Duration { return t.oneshot }).
			over("plain Pod", all, func(t taken) time.Duration { return t.oneshot }, pod),
		figure("answer accepted → next step recorded", all, func(t taken) time.Duration { return t.answered }).
			over("create", all, func(t taken) time.Duration { return t.answered }, create).within(30, "30 ms"),
		figure("step, outside of model and tools", all, func(t taken) time.Duration { return t.step }).
			over("create", all, func(t taken) time.Duration { return t.step }, create).
			within(3*ms(quantile(durations(all, create), 0.5)), "three creates"),
	}
	if len(all) == 0 || len(all[0].warm.path) == 0 {
		return list
	}
	first := func(t taken) time.Duration { return t.warm.path[FirstResult] }
	oneshot := func(t taken) time.Duration { return t.warm.oneshot }
	burst := func(t taken) time.Duration { return quantile(t.warm.burst, 0.95) }
	return append(list,
		figure("pool: run created → first tool result", all, first).over("plain Pod", all, first, pod).within(40, "40 ms"),
		figure("pool: Oneshot run created → result", all, oneshot).over("plain Pod", all, oneshot, pod).within(60, "60 ms"),
		figure(fmt.Sprintf("pool: %d at once, p95 of a round", len(all[0].warm.burst)), all, burst).over("plain Pod", all, burst, pod).within(250, "250 ms"),
	)
}

func durations(all []taken, of func(taken) time.Duration) (list []time.Duration) {
	for _, t := range all {
		list = append(list, of(t))
	}
	return list
}

func figure(name string, all []taken, of func(taken) time.Duration) Figure {
	list := durations(all, of)
	return Figure{Name: name, P50: tenth(ms(quantile(list, 0.5))), P95: tenth(ms(quantile(list, 0.95)))}
}

func tenth(x float64) float64 { return math.Round(10*x) / 10 }

// over gives a figure its ratio to another one of the same round.
func (f Figure) over(name string, all []taken, of, by func(taken) time.Duration) Figure {
	var ratios []float64
	for _, t := range all {
		if by(t) > 0 {
			ratios = append(ratios, float64(of(t))/float64(by(t)))
		}
	}
	f.Ratio, f.Over = math.Round(100*quantile(ratios, 0.5))/100, name
	return f
}

// within gives a figure its bound.
func (f Figure) within(bound float64, why string) Figure {
	f.Bound, f.Why = tenth(bound), why
	return f
}

// pathOf returns the moments of a run in the order in which they came.
func pathOf(all []taken, of func(taken) map[Moment]time.Duration) []Mark {
	at := map[Moment][]time.Duration{}
	for _, t := range all {
		for m, d := range of(t) {
			at[m] = append(at[m], d)
		}
	}
	var path []Mark
	for m, list := range at {
		path = append(path, Mark{Moment: m, P50: tenth(ms(quantile(list, 0.5)))})
	}
	slices.SortFunc(path, func(a, b Mark) int { return cmp.Or(cmp.Compare(a.P50, b.P50), cmp.Compare(a.Moment, b.Moment)) })
	return path
}

// table returns the report for people.
func (r *Report) table() string {
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

// missed returns a line for each figure that is beyond its bound.
func (r *Report) missed() (lines []string) {
	for _, f := range r.Figures {
		if f.Bound > 0 && f.P50 > f.Bound {
			lines = append(lines, fmt.Sprintf("%s: %.1f ms, and it must be at most %.1f ms (%s)", f.Name, f.P50, f.Bound, f.Why))
		}
	}
	return lines
}

// worseThan returns a line for each ratio that is worse than in an earlier report, beyond noise. Times are those of a machine and are not
// compared with earlier ones.
func (r *Report) worseThan(before *Report) (lines []string) {
	for _, f := range r.Figures {
		i := slices.IndexFunc(before.Figures, func(b Figure) bool { return b.Name == f.Name && b.Over == f.Over })
		if i >= 0 && before.Figures[i].Ratio > 0 && f.Ratio > noise*before.Figures[i].Ratio {
			lines = append(lines, fmt.Sprintf("%s: %.2f times %s, and it was %.2f times on %s", f.Name, f.Ratio, f.Over, before.Figures[i].Ratio, before.Date))
		}
	}
	return lines
}

func (r *Report) write(file string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644) //nolint:gosec // The figures are for everybody.
}

func readReport(file string) (*Report, error) {
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
