// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/test/bench/figures"
)

// Units of rows.
const (
	unitSeconds  = "s"
	unitMiB      = "MiB"
	unitKiB      = "KiB"
	unitRequests = "requests"
	unitRuns     = "runs"
	unitSteps    = "steps/s"
	unitCalls    = "calls"
)

// Row is one of the table.
type Row = figures.Row

// The rows that the rounds measure, and those after them.
const (
	firstRow, lastOfRounds, lastRow = 1, 5, 10
)

// parseOnly returns the rows that a list such as "6,9" names, all for "".
func parseOnly(list string) ([]int, error) {
	var rows []int
	if list == "" {
		for n := firstRow; n <= lastRow; n++ {
			rows = append(rows, n)
		}
		return rows, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < firstRow || n > lastRow {
			return nil, fmt.Errorf("-only must list rows from %d to %d, such as 6,9: %q is none", firstRow, lastRow, text)
		}
		rows = append(rows, n)
	}
	return rows, nil
}

// withRounds reports whether one of the rows is measured in rounds.
func withRounds(rows []int) bool {
	return slices.ContainsFunc(rows, func(n int) bool { return n <= lastOfRounds })
}

// measureRow is how rows are measured.
type measureRow struct {
	// of has the numbers of the rows that it measures.
	of   []int
	take func(context.Context) ([]Row, error)
}

// afterRounds returns how the rows are measured that are in no round, in the order in which the one disturbs the next least: those that end managers or fill their caches come last.
func (b *bench) afterRounds() []measureRow {
	return []measureRow{
		{[]int{9}, b.wholeRuns},
		{[]int{10}, b.quiet},
		{[]int{7, 8}, b.active},
		{[]int{7}, b.many},
		{[]int{7, 8}, b.crowd},
		{[]int{6}, b.takeover},
	}
}

// takeRows measures those rows that are asked for.
func takeRows(ctx context.Context, all []measureRow, only []int, out io.Writer) ([]Row, error) {
	var rows []Row
	for _, m := range all {
		if !slices.ContainsFunc(m.of, func(n int) bool { return slices.Contains(only, n) }) {
			continue
		}
		taken, err := m.take(ctx)
		if err != nil {
			return rows, fmt.Errorf("rows %v: %w", m.of, err)
		}
		for _, r := range taken {
			if slices.Contains(only, r.Number) {
				rows = append(rows, r)
				fmt.Fprintf(out, "row %d, %s: %s %s\n", r.Number, r.Name, figures.Number(r.Value), r.Unit)
			}
		}
	}
	return rows, nil
}

// tenth rounds to one digit behind the point.
func tenth(x float64) float64 { return math.Round(10*x) / 10 }
