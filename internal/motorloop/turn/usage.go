// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"cmp"
	"math"
)

// Usage is the cost of a model call, in tokens.
type Usage struct {
	PromptTokens     int64
	CompletionTokens int64
	// CachedTokens is the part of PromptTokens that the endpoint served from its cache.
	CachedTokens int64
	// Estimated is true if the endpoint did not report all of them.
	Estimated bool
	// Cost is in billionths of Currency. Unpriced is true if it is not the cost of all of the tokens.
	Cost     int64
	Currency string
	Unpriced bool
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		PromptTokens: sum(u.PromptTokens, v.PromptTokens), CompletionTokens: sum(u.CompletionTokens, v.CompletionTokens),
		CachedTokens: sum(u.CachedTokens, v.CachedTokens), Estimated: u.Estimated || v.Estimated,
		Cost: sum(u.Cost, v.Cost), Currency: cmp.Or(u.Currency, v.Currency), Unpriced: u.Unpriced || v.Unpriced,
	}
}

// sum adds numbers without an overflow. An endpoint can report any number, also a negative one, and the cost of very many tokens can be the largest there is.
func sum(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// Total returns the number of tokens.
func (u Usage) Total() int64 { return sum(u.PromptTokens, u.CompletionTokens) }
