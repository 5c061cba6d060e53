// SPDX-License-Identifier: Apache-2.0

// Package portfolio computes what the portfolio sample has to come to, in another way than the programs of the sample
// do: tests compare the two. Nothing outside tests may use it.
package portfolio

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Position is a position as it was compared with its target. Weights are percentages of the whole portfolio.
type Position struct {
	Symbol, Name string
	// Value is in EUR.
	Value          float64
	Weight, Target float64
}

// Deviation is negative if the position has less than its target.
func (p Position) Deviation() float64 { return p.Weight - p.Target }

// Comparison is a portfolio against its strategy.
type Comparison struct {
	// Total is the value of all positions that were counted, in EUR.
	Total float64
	// Positions are those that were counted, the largest shortfall first.
	Positions []Position
	// Below are the positions below target, in the same order.
	Below []Position
}

var (
	// ErrStopped says that the answer ends the run without a report.
	ErrStopped = errors.New("the answer says to stop")
	// ErrUnclear says that the answer decides nothing, so the run has to ask again.
	ErrUnclear = errors.New("the answer is neither a price nor an option")
)

// BelowTarget names the positions below target, the largest shortfall first, given the answer to the question about
// missing prices.
func BelowTarget(portfolio, strategy []byte, answer string) ([]Position, error) {
	c, err := Compare(portfolio, strategy, answer)
	return c.Below, err
}

// Compare compares every position with its target, given the answer to the question about missing prices: an option
// ("skip it", "use the last known price", "stop"), or a price ("12.50", "use 12.50", "12.50 USD").
func Compare(portfolio, strategy []byte, answer string) (Comparison, error) {
	plan, err := readStrategy(strategy)
	if err != nil {
		return Comparison{}, err
	}
	rows, err := readPositions(portfolio)
	if err != nil {
		return Comparison{}, err
	}
	var c Comparison
	for _, r := range rows {
		price, counted, err := r.priceInEUR(plan, answer)
		if err != nil {
			return Comparison{}, fmt.Errorf("%s: %w", r["symbol"], err)
		}
		if !counted {
			continue
		}
		quantity, err := strconv.ParseFloat(r["quantity"], 64)
		if err != nil {
			return Comparison{}, fmt.Errorf("%s: %w", r["symbol"], err)
		}
		c.Positions = append(c.Positions, Position{
			Symbol: r["symbol"], Name: r["name"], Value: quantity * price, Target: plan.targets[r["symbol"]],
		})
		c.Total += quantity * price
	}
	for i := range c.Positions {
		c.Positions[i].Weight = c.Positions[i].Value / c.Total * 100
	}
	slices.SortFunc(c.Positions, func(a, b Position) int {
		return cmp.Or(cmp.Compare(a.Deviation(), b.Deviation()), cmp.Compare(a.Symbol, b.Symbol))
	})
	for _, p := range c.Positions {
		if p.Target > 0 && p.Target-p.Weight > plan.tolerance {
			c.Below = append(c.Below, p)
		}
	}
	return c, nil
}

// row is a line of the portfolio, by column.
type row map[string]string

func readPositions(text []byte) ([]row, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) < 2 {
		return nil, errors.New("the portfolio has no positions")
	}
	rows := make([]row, 0, len(records)-1)
	for _, record := range records[1:] {
		r := row{}
		for i, column := range records[0] {
			r[column] = strings.TrimSpace(record[i])
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// priceInEUR returns the price to count the position at, or false if it is to be left out.
func (r row) priceInEUR(plan strategy, answer string) (price float64, counted bool, err error) {
	text, currency := r["price"], r["currency"]
	if text == "" {
		decided, err := decide(answer)
		switch {
		case err != nil:
			return 0, false, err
		case decided.skip:
			return 0, false, nil
		case decided.last:
			text = r["last_price"]
		default:
			text = decided.price
			currency = cmp.Or(decided.currency, currency)
		}
	}
	price, err = strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false, err
	}
	switch currency {
	case "EUR":
		return price, true, nil
	case "USD":
		return price / plan.rate, true, nil
	}
	return 0, false, fmt.Errorf("unknown currency %q", currency)
}

// decision is what the person decided about missing prices.
type decision struct {
	skip, last bool
	price      string
	// currency is empty for the position's own.
	currency string
}

func decide(answer string) (decision, error) {
	words := strings.Fields(strings.ToLower(answer))
	for len(words) > 0 && slices.Contains([]string{"use", "take", "the", "its"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return decision{}, ErrUnclear
	}
	switch strings.Trim(words[0], ".,;!") {
	case "stop":
		return decision{}, ErrStopped
	case "skip":
		return decision{skip: true}, nil
	case "last":
		return decision{last: true}, nil
	}
	d := decision{price: strings.Replace(words[0], ",", ".", 1)}
	if v, err := strconv.ParseFloat(d.price, 64); err != nil || v <= 0 || len(words) > 2 {
		return decision{}, ErrUnclear
	}
	if len(words) == 2 {
		d.currency = strings.ToUpper(words[1])
	}
	return d, nil
}

type strategy struct {
	targets         map[string]float64
	rate, tolerance float64
}

var targetRow = regexp.MustCompile(`^[A-Z]+$`)

// readStrategy goes line by line: settings are "Name: value", targets are rows of a table.
func readStrategy(text []byte) (strategy, error) {
	s := strategy{targets: map[string]float64{}}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		var err error
		switch name, value, _ := strings.Cut(line, ":"); {
		case name == "Exchange rate":
			_, err = fmt.Sscanf(value, " 1 EUR = %f USD", &s.rate)
		case name == "Tolerance":
			_, err = fmt.Sscanf(value, " %f percentage points", &s.tolerance)
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if symbol := strings.TrimSpace(cells[0]); targetRow.MatchString(symbol) && len(cells) == 2 {
				var target float64
				_, err = fmt.Sscanf(cells[1], " %f %%", &target)
				s.targets[symbol] = target
			}
		}
		if err != nil {
			return s, fmt.Errorf("strategy, line %q: %w", line, err)
		}
	}
	if s.rate == 0 || s.tolerance == 0 || len(s.targets) == 0 {
		return s, errors.New("the strategy lacks the exchange rate, the tolerance or the targets")
	}
	return s, nil
}
