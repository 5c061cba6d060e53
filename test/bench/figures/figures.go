// SPDX-License-Identifier: Apache-2.0

// Package figures has the figures of a benchmark: how they are made of rounds, shown, written, and compared with earlier ones.
package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// noise is how much worse than before a ratio may be: two measurements of the same program differ by so much on a quiet machine.
const noise = 1.25

// Figure is one thing that was measured, over all rounds.
type Figure struct {
	Name string `json:"name"`
	// Unit is the one of P50, P95 and Bound.
	Unit string  `json:"unit"`
	P50  float64 `json:"p50"`
	// P95 is the value that one measurement of twenty is worse than.
	P95 float64 `json:"p95"`
	// Of is how many measurements these two are of.
	Of int `json:"measurements"`
	// Ratio is the median over the rounds of this value divided by the one that it is compared with in the same round, 0 if with none.
	Ratio float64 `json:"ratio,omitempty"`
	// Over names the divisor of Ratio.
	Over string `json:"over,omitempty"`
	// Bound is the most that P50 may be, or the least if Least is set; 0 for no bound.
	Bound float64 `json:"bound,omitempty"`
	Least bool    `json:"least,omitempty"`
	// Why says where the bound comes from.
	Why string `json:"why,omitempty"`
	// Peer reports whether this is another program's: it is compared with no earlier measurement.
	Peer bool `json:"peer,omitempty"`

	// all has the value of each round.
	all []float64
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
	Figures []Figure `json:"figures"`
	// Notes say why something was not measured.
	Notes []string `json:"notes,omitempty"`
	// Path has the moments of a run that makes one call.
	Path []Mark `json:"path,omitempty"`
	// Warm has those of a run that takes its sandbox from a pool.
	Warm []Mark `json:"warmPath,omitempty"`
	// Rows are what was measured once, or of the whole operator.
	Rows []Row `json:"rows,omitempty"`
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
	list := make([]float64, 0, len(all))
	for _, d := range all {
		list = append(list, Milliseconds(d))
	}
	return Amount(name, "ms", list)
}

// Amount sums up the values of all rounds, of which less is better.
func Amount(name, unit string, all []float64) Figure {
	return Figure{Name: name, Unit: unit, P50: rounded(Quantile(all, 0.5)), P95: rounded(Quantile(all, 0.95)), Of: len(all), all: all}
}

// Rate sums up the values of all rounds, of which more is better.
func Rate(name, unit string, all []float64) Figure {
	return Figure{Name: name, Unit: unit, P50: rounded(Quantile(all, 0.5)), P95: rounded(Quantile(all, 0.05)), Of: len(all), Least: true, all: all}
}

// Milliseconds returns a time in milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// rounded has at least three digits of a value that are not 0: a new connection takes a tenth of a millisecond.
func rounded(x float64) float64 {
	scale := math.Pow10(decimals(x))
	return math.Round(scale*x) / scale
}

func decimals(x float64) int {
	switch x = math.Abs(x); {
	case x < 1:
		return 3
	case x < 10:
		return 2
	}
	return 1
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', decimals(x), 64) }

// Against gives a figure its ratio to another one of the same rounds. A round that has no value of the other one has no ratio.
func (f Figure) Against(name string, other Figure) Figure {
	var ratios []float64
	for i := range min(len(f.all), len(other.all)) {
		if other.all[i] > 0 {
			ratios = append(ratios, f.all[i]/other.all[i])
		}
	}
	f.Ratio, f.Over = math.Round(100*Quantile(ratios, 0.5))/100, name
	return f
}

// Within gives a figure its bound: the most that the median may be, or the least of a Rate.
func (f Figure) Within(bound float64, why string) Figure {
	f.Bound, f.Why = rounded(bound), why
	return f
}

// OfPeer gives a figure that is another program's.
func (f Figure) OfPeer() Figure {
	f.Peer = true
	return f
}

// misses reports whether a figure is beyond its bound.
func (f Figure) misses() bool {
	if f.Least {
		return f.P50 < f.Bound
	}
	return f.Bound > 0 && f.P50 > f.Bound
}

// must says how a figure is bound, "" for not at all.
func (f Figure) must() string {
	switch {
	case f.Bound == 0:
		return ""
	case f.Least:
		return fmt.Sprintf("at least %s %s (%s)", number(f.Bound), f.Unit, f.Why)
	}
	return fmt.Sprintf("at most %s %s (%s)", number(f.Bound), f.Unit, f.Why)
}

// worse reports whether the ratio of a figure is worse than that of an earlier one, beyond noise. A peer's never is: a slow peer is no fault of this program.
func (f Figure) worse(before Figure) bool {
	if f.Peer {
		return false
	}
	if f.Least {
		return f.Ratio*noise < before.Ratio
	}
	return before.Ratio > 0 && f.Ratio > noise*before.Ratio
}

// Table returns the report for people.
func (r *Report) Table() string {
	var b strings.Builder
	if len(r.Figures) > 0 {
		r.rounds(&b)
	}
	if len(r.Rows) > 0 {
		b.WriteString(tableOf(r.Rows))
	}
	for _, n := range r.Notes {
		b.WriteString(n + "\n")
	}
	return b.String()
}

// rounds writes the figures of rounds.
func (r *Report) rounds(b *strings.Builder) {
	fmt.Fprintf(b, "\n%-58s %9s %9s %-6s %7s  %s\n", "figure", "p50", "p95", "unit", "ratio", "must be")
	for _, f := range r.Figures {
		ratio := ""
		if f.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", f.Ratio)
		}
		fmt.Fprintf(b, "%-58s %9s %9s %-6s %7s  %s\n", f.Name, number(f.P50), number(f.P95), f.Unit, ratio, f.must())
	}
	if len(r.Path) > 0 {
		b.WriteString("\na run, from its creation on, p50 ms\n")
	}
	for _, m := range r.Path {
		fmt.Fprintf(b, "%9.1f  %s\n", m.P50, m.Moment)
	}
	if len(r.Warm) > 0 {
		b.WriteString("\na run with a sandbox from a pool, from its creation on, p50 ms\n")
	}
	for _, m := range r.Warm {
		fmt.Fprintf(b, "%9.1f  %s\n", m.P50, m.Moment)
	}
}

// Missed returns a line for each figure that is beyond its bound.
func (r *Report) Missed() (lines []string) {
	for _, f := range r.Figures {
		if f.misses() {
			lines = append(lines, fmt.Sprintf("%s: %s %s, and it must be %s", f.Name, number(f.P50), f.Unit, f.must()))
		}
	}
	return append(lines, missedRows(r.Rows)...)
}

// WorseThan returns a line for each ratio that is worse than in an earlier report, beyond noise. Times are those of a machine and are not
// compared with earlier ones.
func (r *Report) WorseThan(before *Report) (lines []string) {
	for _, f := range r.Figures {
		i := slices.IndexFunc(before.Figures, func(b Figure) bool { return b.Name == f.Name && b.Over == f.Over })
		if i >= 0 && f.worse(before.Figures[i]) {
			lines = append(lines, fmt.Sprintf("%s: %.2f times %s, and it was %.2f times on %s", f.Name, f.Ratio, f.Over, before.Figures[i].Ratio, before.Date))
		}
	}
	return append(lines, worseRows(r.Rows, before)...)
}
