// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestAnAmountIsReadInBillionths(t *testing.T) {
	t.Parallel()
	for in, want := range map[v1alpha1.Amount]int64{
		"": 0, "0": 0, "1": unit, "0.5": unit / 2, "0.000000001": 1, "3.14": 3_140_000_000, "999999999.999999999": maxCost,
	} {
		if got, err := Parse(in); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []v1alpha1.Amount{"-1", "x", "1e3", "1.", ".5", "1.0000000001", "1000000000", "1,5", "+1", "0x1"} {
		if got, err := Parse(in); err == nil {
			t.Errorf("%q was read as %d", in, got)
		}
	}
}

func TestAnAmountIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]v1alpha1.Amount{
		0: "0", -5: "0", 1: "0.000000001", unit: "1", unit / 2: "0.5", 1_230_000_000: "1.23", maxCost: "999999999.999999999", math.MaxInt64: "999999999.999999999",
	} {
		got := Amount(n)
		if got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
		if back, err := Parse(got); err != nil || back != min(max(n, 0), maxCost) {
			t.Errorf("%q was read as %d, %v", got, back, err)
		}
	}
}

// No number of tokens and no price may make a cost that is negative, or smaller than a smaller one.
func TestACostEndsAtTheLargestAmount(t *testing.T) {
	t.Parallel()
	most := Price{maxCost, maxCost, maxCost}
	if got := most.Of(math.MaxInt64, 0, math.MaxInt64); got != maxCost {
		t.Error(got)
	}
	if got := (Spent{math.MaxInt64, math.MaxInt64}).Add(Spent{1, 1}); got != (Spent{math.MaxInt64, math.MaxInt64}) {
		t.Error(got)
	}
}

func TestCostsOfTwoCurrenciesAreNotAdded(t *testing.T) {
	t.Parallel()
	sum := v1alpha1.Usage{}
	AddCost(&sum, v1alpha1.Usage{Cost: "0.1", Currency: "EUR"})
	AddCost(&sum, v1alpha1.Usage{Cost: "0.2", Currency: "EUR"})
	if sum.Cost != "0.3" || sum.Currency != "EUR" || sum.Unpriced {
		t.Errorf("%+v", sum)
	}
	AddCost(&sum, v1alpha1.Usage{Cost: "5", Currency: "USD"})
	if sum.Cost != "0.3" || sum.Currency != "EUR" || !sum.Unpriced {
		t.Errorf("%+v", sum)
	}
	if got := Cost(sum.Cost, sum.Currency); got != "0.3 EUR" {
		t.Error(got)
	}
}

// A negative number is no amount. It neither takes nor makes room.
func TestNegativeAmountsCountAsNone(t *testing.T) {
	t.Parallel()
	for _, s := range []Spent{{1000, 1000}, {math.MaxInt64, math.MaxInt64}, {}} {
		less := Spent{-1_000_000, math.MinInt64}
		if s.Add(less) != s || less.Add(s) != s || s.Minus(less) != s {
			t.Errorf("%+v: %+v, %+v, %+v", s, s.Add(less), less.Add(s), s.Minus(less))
		}
	}
}
