// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"strings"
	"testing"
)

func TestARowMissesItsBoundOnItsOwnSide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		row    Row
		misses bool
	}{
		{Row{Value: 10, Bound: 10}, false},
		{Row{Value: 10.5, Bound: 10}, true},
		{Row{Value: 0, Bound: 0}, false},
		{Row{Value: 1, Bound: 0}, true},
		{Row{Value: 10, Bound: 10, AtLeast: true}, false},
		{Row{Value: 9, Bound: 10, AtLeast: true}, true},
	} {
		if got := tt.row.misses(); got != tt.misses {
			t.Errorf("%+v misses: %t", tt.row, got)
		}
	}
}

func TestRowsAreInTheReport(t *testing.T) {
	t.Parallel()
	r := &Report{Rows: []Row{
		{Number: 9, Name: "writes", Value: 9, Unit: "requests", Bound: 8, Detail: "one of them: 9 patch pods"},
		{Number: 7, Name: "steps", Value: 120, Unit: "steps/s", Bound: 100, AtLeast: true},
	}}
	table := r.Table()
	for _, want := range []string{"9 requests", "at most 8", "MISS", "120 steps/s", "at least 100", "PASS", "9 patch pods"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "p50 ms") {
		t.Errorf("the table has rounds that were not measured:\n%s", table)
	}
	if missed := r.Missed(); len(missed) != 1 || !strings.HasPrefix(missed[0], "row 9, writes: 9 requests") {
		t.Errorf("missed: %q", missed)
	}
}

func TestOnlyCountsAndMemoryAreComparedWithEarlierOnes(t *testing.T) {
	t.Parallel()
	before := &Report{Date: "2026-01-01", Rows: []Row{
		{Number: 9, Name: "writes", Value: 8, Unit: "requests"}, {Number: 6, Name: "killed", Value: 5, Unit: "s"}, {Number: 10, Name: "quiet", Unit: "requests"},
	}}
	now := func(writes, seconds, quiet float64) *Report {
		return &Report{Rows: []Row{
			{Number: 9, Name: "writes", Value: writes, Unit: "requests"}, {Number: 6, Name: "killed", Value: seconds, Unit: "s"}, {Number: 10, Name: "quiet", Value: quiet, Unit: "requests"},
		}}
	}
	if got := now(10, 50, 1).WorseThan(before); len(got) != 0 {
		t.Errorf("noise is worse: %q", got)
	}
	if got := now(11, 5, 0).WorseThan(before); len(got) != 1 || !strings.Contains(got[0], "writes: 11 requests, and it was 8 on 2026-01-01") {
		t.Errorf("%q", got)
	}
	if got := now(8, 5, 2).WorseThan(before); len(got) != 1 {
		t.Errorf("more than none is not worse: %q", got)
	}
}
