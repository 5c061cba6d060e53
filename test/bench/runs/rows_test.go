// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestParseOnly(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]int{"": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "6,9": {6, 9}, "7, 10": {7, 10}} {
		if got, err := parseOnly(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"0", "11", "6,", "six", "6-9"} {
		if got, err := parseOnly(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
	if !withRounds([]int{9, 3}) || withRounds([]int{6, 10}) {
		t.Error("rows 1 to 5 are those of the rounds")
	}
}

func TestOnlyRowsThatAreAskedForAreMeasured(t *testing.T) {
	t.Parallel()
	row := func(numbers ...int) measureRow {
		return measureRow{numbers, func(context.Context) (rows []Row, err error) {
			for _, n := range numbers {
				rows = append(rows, Row{Number: n})
			}
			return rows, nil
		}}
	}
	broken := measureRow{[]int{10}, func(context.Context) ([]Row, error) { return nil, errors.New("broken") }}
	got, err := takeRows(t.Context(), []measureRow{row(9), broken, row(7, 8)}, []int{8}, io.Discard)
	if err != nil || len(got) != 1 || got[0].Number != 8 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = takeRows(t.Context(), []measureRow{row(9), broken, row(7, 8)}, []int{9, 10}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "rows [10]: broken") || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
