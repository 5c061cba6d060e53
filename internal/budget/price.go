// SPDX-License-Identifier: Apache-2.0

package budget

import "motorcortex.dev/motorcortex/api/v1alpha1"

// Price is what a million tokens of a model cost, in billionths.
type Price struct{ Input, CachedInput, Output int64 }

// PriceOf returns the price of a model, false if it has none.
func PriceOf(b *v1alpha1.Budget, model string) (Price, bool) {
	if b == nil {
		return Price{}, false
	}
	for i := range b.Prices {
		p := &b.Prices[i]
		if p.Model != model {
			continue
		}
		price := Price{Input: billionths(p.Input), Output: billionths(p.Output)}
		price.CachedInput = price.Input
		if p.CachedInput != nil {
			price.CachedInput = billionths(*p.CachedInput)
		}
		return price, true
	}
	return Price{}, false
}

// Of returns what tokens cost. cached is the part of input that the endpoint had in its cache.
func (p Price) Of(input, cached, output int64) int64 {
	input = max(input, 0)
	cached = min(max(cached, 0), input)
	type part = struct{ tokens, price int64 }
	return costs(part{input - cached, p.Input}, part{cached, p.CachedInput}, part{output, p.Output})
}

// Most returns the most that a call costs with such a request and answer. The request may be billed at the price of the cache where that is the higher one.
func (p Price) Most(input, output int64) int64 {
	type part = struct{ tokens, price int64 }
	return costs(part{input, max(p.Input, p.CachedInput)}, part{output, p.Output})
}

// defaultOutput is how many tokens an answer is taken to have at most where no MotorCortex says so.
const defaultOutput = 4096

// OutputOf returns how many tokens an answer is taken to have at most.
func OutputOf(b *v1alpha1.Budget) int64 {
	if b != nil && b.MaxOutputTokens > 0 {
		return int64(b.MaxOutputTokens)
	}
	return defaultOutput
}

// CallOf returns the most that a call takes whose request has so many tokens, with the longest answer.
func CallOf(b *v1alpha1.Budget, p Price, input int64) Spent {
	output := OutputOf(b)
	return Spent{Tokens: add(max(input, 0), output), Cost: p.Most(input, output)}
}
