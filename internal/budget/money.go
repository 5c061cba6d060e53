// SPDX-License-Identifier: Apache-2.0

// Package budget counts what runs spend on models, and decides what they may spend. It is pure. Money is counted in whole billionths of a currency: floating-point
// numbers would make sums that depend on their order.
package budget

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// unit is how many billionths a unit of a currency has, and digits how many digits these are.
	unit, digits = 1_000_000_000, 9
	// maxCost is the largest amount that the API has. Sums end there.
	maxCost = unit*unit - 1
	// perTokens is how many tokens a price is for.
	perTokens = 1_000_000
)

// Parse returns an amount in billionths. An empty one is 0. The API server lets no other text pass than one that can be read.
func Parse(a v1alpha1.Amount) (int64, error) {
	if a == "" {
		return 0, nil
	}
	whole, part, pointed := strings.Cut(string(a), ".")
	if pointed && part == "" {
		return 0, fmt.Errorf("the amount %.40q has nothing after its point", a)
	}
	if len(whole) > digits || len(part) > digits {
		return 0, fmt.Errorf("the amount %.40q has more than %d digits before or after its point", a, digits)
	}
	units, err := strconv.ParseUint(whole, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("the amount %.40q is no decimal number", a)
	}
	var rest uint64
	if part != "" {
		if rest, err = strconv.ParseUint(part+strings.Repeat("0", digits-len(part)), 10, 63); err != nil {
			return 0, fmt.Errorf("the amount %.40q is no decimal number", a)
		}
	}
	return int64(units*unit + rest), nil
}

// billionths returns an amount that the API server has let pass. A text that it would have refused is as much as there can be: a bound of it bounds nothing, and a
// price of it is the highest.
func billionths(a v1alpha1.Amount) int64 {
	n, err := Parse(a)
	if err != nil {
		return maxCost
	}
	return n
}

// Amount returns billionths as the API has them, without zeros at the end. Negative numbers are 0.
func Amount(n int64) v1alpha1.Amount {
	n = min(max(n, 0), maxCost)
	s := strconv.FormatInt(n/unit, 10)
	if rest := n % unit; rest > 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%09d", rest), "0")
	}
	return v1alpha1.Amount(s)
}

// add returns a sum, math.MaxInt64 at most. A negative number counts as 0: none is spent, and a bound that is near the largest number would overflow.
func add(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// costs returns the price of tokens of several kinds, rounded up to a whole billionth.
func costs(parts ...struct{ tokens, price int64 }) int64 {
	var hi, lo uint64
	for _, p := range parts {
		h, l := bits.Mul64(uint64(max(p.tokens, 0)), uint64(max(p.price, 0)))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	lo, carry := bits.Add64(lo, perTokens-1, 0)
	if hi += carry; hi >= perTokens {
		return maxCost
	}
	q, _ := bits.Div64(hi, lo, perTokens)
	return int64(min(q, maxCost))
}

// Spent is what calls of models took.
type Spent struct {
	Tokens int64
	// Cost is in billionths.
	Cost int64
}

// Add returns the sum.
func (s Spent) Add(o Spent) Spent { return Spent{add(s.Tokens, o.Tokens), add(s.Cost, o.Cost)} }

// Minus returns the difference. No part of it is negative, and none is more than it was.
func (s Spent) Minus(o Spent) Spent {
	return Spent{max(s.Tokens-max(o.Tokens, 0), 0), max(s.Cost-max(o.Cost, 0), 0)}
}

// times returns the n-fold.
func (s Spent) times(n int) Spent {
	var sum Spent
	for range n {
		sum = sum.Add(s)
	}
	return sum
}

// least returns the smaller of each part.
func (s Spent) least(o Spent) Spent { return Spent{min(s.Tokens, o.Tokens), min(s.Cost, o.Cost)} }

// IsZero reports whether nothing was spent.
func (s Spent) IsZero() bool { return s == Spent{} }

// SpentOf returns the sum of a usage.
func SpentOf(u v1alpha1.Usage) Spent { return Spent{u.TotalTokens, billionths(u.Cost)} }

// AddCost adds the cost of a usage to a sum. A cost in another currency than the sum's counts as one that is not known.
func AddCost(sum *v1alpha1.Usage, u v1alpha1.Usage) {
	sum.Unpriced = sum.Unpriced || u.Unpriced
	switch {
	case u.Cost == "":
	case sum.Cost != "" && sum.Currency != u.Currency:
		sum.Unpriced = true
	default:
		sum.Cost, sum.Currency = Amount(add(billionths(sum.Cost), billionths(u.Cost))), u.Currency
	}
}

// Cost returns a cost with its currency for a person, "" for none.
func Cost(cost v1alpha1.Amount, currency v1alpha1.Currency) string {
	if cost == "" {
		return ""
	}
	return strings.TrimSpace(string(cost) + " " + string(currency))
}
