// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func priced() *v1alpha1.Budget {
	return &v1alpha1.Budget{Currency: "EUR", Prices: []v1alpha1.ModelPrice{
		{Model: "large", Input: "2", CachedInput: new(v1alpha1.Amount("0.5")), Output: "8"},
		{Model: "small", Input: "0.1", Output: "0.4"},
	}}
}

func TestAPriceIsForAMillionTokens(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model                 string
		input, cached, output int64
		want                  v1alpha1.Amount
	}{
		"a million of each":              {"large", 1_000_000, 0, 1_000_000, "10"},
		"a part was in the cache":        {"large", 1000, 400, 0, "0.0014"},
		"all was in the cache":           {"large", 1000, 1000, 0, "0.0005"},
		"more in the cache than sent":    {"large", 1000, 5000, 0, "0.0005"},
		"no price of the cache":          {"small", 1000, 1000, 0, "0.0001"},
		"less than a billionth":          {"small", 0, 0, 1, "0.0000004"},
		"a negative number of an answer": {"small", -5, -5, -5, "0"},
	} {
		p, ok := PriceOf(priced(), tt.model)
		if got := Amount(p.Of(tt.input, tt.cached, tt.output)); !ok || got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	// A part of a billionth is rounded up, once for the whole call.
	tiny := Price{Input: 1, CachedInput: 1, Output: 1}
	if got := tiny.Of(1, 0, 1); got != 1 {
		t.Error(got)
	}
}

func TestAModelWithoutAPriceHasNone(t *testing.T) {
	t.Parallel()
	for _, b := range []*v1alpha1.Budget{nil, {}, priced()} {
		if p, ok := PriceOf(b, "other"); ok {
			t.Errorf("%+v", p)
		}
	}
}

func TestACallIsWeighedWithItsLongestAnswer(t *testing.T) {
	t.Parallel()
	b := priced()
	p, _ := PriceOf(b, "large")
	if got := CallOf(b, p, 1000); got != (Spent{5096, p.Most(1000, 4096)}) {
		t.Errorf("%+v", got)
	}
	b.MaxOutputTokens = 100
	if got := CallOf(b, p, 1000); got != (Spent{1100, 2_800_000}) {
		t.Errorf("%+v", got)
	}
	if got := CallOf(nil, Price{}, 10); got != (Spent{4106, 0}) {
		t.Errorf("%+v", got)
	}
}
