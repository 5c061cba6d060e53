// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rows = []Row{
	{Task: "a", Kind: "coding", Side: Motor, Verdict: "Solved", Turns: 6, PromptTokens: 1_000_000, CompletionTokens: 500_000, Cacheable: 0.876},
	{Task: "a", Kind: "coding", Side: Bare, Verdict: "Solved", Turns: 5},
	{Task: "b", Kind: "coding", Side: Motor, Verdict: "FalseSuccess", Claim: "Succeeded", Turns: 9, Problems: []string{"a.txt\nis missing"}},
	{Task: "b", Kind: "coding", Side: Bare, Verdict: "Solved", Turns: 1},
	{Task: "c", Kind: "data", Side: Motor, Verdict: "Lost", Claim: "Ended", Reason: "RepeatedToolFailure"},
	{Task: "d", Kind: "data", Side: Motor, Error: "no cluster", Verdict: ""},
}

func TestSum(t *testing.T) {
	t.Parallel()
	got := Sum("a reader", rows, Prices{In: 2, Out: 8})
	want := []Total{
		{Side: Motor, Tasks: 4, Solved: 1, FalseSuccesses: 1, Lost: 1, Errors: 1, Turns: 15, PromptTokens: 1_000_000, CompletionTokens: 500_000, Cost: 6},
		{Side: Bare, Tasks: 2, Solved: 2, Turns: 6},
	}
	if !cmp.Equal(got.Totals, want) || got.TurnRatio != 1.2 {
		t.Errorf("%s, ratio %f", cmp.Diff(want, got.Totals), got.TurnRatio)
	}
	if got := Sum("", rows[4:], Prices{}); got.TurnRatio != 0 || len(got.Totals) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestTheTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		prices Prices
		says   []string
	}{
		{Prices{In: 2, Out: 8}, []string{"| motor | 4 | 1 | 1 | 1 | 1 | 15 | 1000000 | 500000 | 6.0000 |", "| a | coding | motor | Solved | 6 | 1000000 | 500000 | 88 % | 6.0000 |"}},
		{Prices{}, []string{"The model: a reader", "both solved: 1.20", "| d | data | motor | not judged |", "* b, motor: Succeeded  a.txt is missing", "* c, motor: Ended RepeatedToolFailure", "* d, motor:   no cluster", "| – |"}},
	} {
		var b strings.Builder
		if err := Sum("a reader", rows, tt.prices).Markdown(&b, tt.prices); err != nil {
			t.Fatal(err)
		}
		for _, says := range tt.says {
			if !strings.Contains(b.String(), says) {
				t.Errorf("the table does not have %q:\n%s", says, b.String())
			}
		}
	}
}
