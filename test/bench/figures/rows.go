// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Row is a measurement of the whole operator that is no time of a round.
type Row struct {
	// Number is that of the row of the table in docs/performance.md.
	Number int     `json:"row"`
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Bound  float64 `json:"bound"`
	// AtLeast is true if Value must not be below Bound, false if it must not be above.
	AtLeast bool `json:"atLeast,omitempty"`
	// Detail says how the value came about.
	Detail string `json:"detail,omitempty"`
}

func (r Row) misses() bool { return r.AtLeast && r.Value < r.Bound || !r.AtLeast && r.Value > r.Bound }

func (r Row) must() string {
	if r.AtLeast {
		return "at least " + Number(r.Bound)
	}
	return "at most " + Number(r.Bound)
}

// worse reports whether a value is worse than an earlier one, beyond noise. Times and rates are those of a machine and are not compared.
func (r Row) worse(before Row) bool {
	if !slices.Contains([]string{"MiB", "KiB", "requests"}, r.Unit) {
		return false
	}
	return r.Value > noise*max(before.Value, 1)
}

// Number writes a value with one digit behind the point, if it is not 0.
func Number(x float64) string { return strconv.FormatFloat(math.Round(10*x)/10, 'f', -1, 64) }

// tableOf returns rows for people.
func tableOf(rows []Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%3s  %-52s %18s  %-16s %s\n", "row", "figure", "value", "must be", "")
	for _, r := range rows {
		verdict := "PASS"
		if r.misses() {
			verdict = "MISS"
		}
		fmt.Fprintf(&b, "%3d  %-52s %18s  %-16s %s\n", r.Number, r.Name, Number(r.Value)+" "+r.Unit, r.must(), verdict)
		if r.Detail != "" {
			fmt.Fprintf(&b, "     %s\n", r.Detail)
		}
	}
	return b.String()
}

// missedRows returns a line for each row that is beyond its bound.
func missedRows(rows []Row) (lines []string) {
	for _, r := range rows {
		if r.misses() {
			lines = append(lines, fmt.Sprintf("row %d, %s: %s %s, and it must be %s", r.Number, r.Name, Number(r.Value), r.Unit, r.must()))
		}
	}
	return lines
}

// worseRows returns a line for each row that is worse than in an earlier report.
func worseRows(rows []Row, before *Report) (lines []string) {
	for _, r := range rows {
		i := slices.IndexFunc(before.Rows, func(b Row) bool { return b.Number == r.Number && b.Name == r.Name && b.Unit == r.Unit })
		if i >= 0 && r.worse(before.Rows[i]) {
			lines = append(lines, fmt.Sprintf("row %d, %s: %s %s, and it was %s on %s", r.Number, r.Name, Number(r.Value), r.Unit, Number(before.Rows[i].Value), before.Date))
		}
	}
	return lines
}
