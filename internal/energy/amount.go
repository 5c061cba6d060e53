// SPDX-License-Identifier: Apache-2.0

// Package energy decides how much energy the runs of a namespace drain, and whether there is enough for one more. It makes no request: a decision
// takes the status of a MotorCortex and the time, and returns the status that is to be written.
package energy

import (
	"fmt"
	"strconv"
	"strings"
)

// Amount is energy in millionths of a full body. Sums of it are exact, and those of floating-point numbers are not.
type Amount int64

// Full is the level of a full body.
const Full Amount = 1_000_000

// places is how many decimal places an amount has.
const places = 6

// Parse reads an amount: digits, and after a point six more at most.
func Parse(s string) (Amount, error) {
	whole, fraction, point := strings.Cut(s, ".")
	if len(whole) > 10 || len(fraction) > places || point && fraction == "" || !digits(whole) || point && !digits(fraction) {
		return 0, fmt.Errorf("energy %.20q is not a decimal number of at least 0 with six places at most", s)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("energy %.20q: %w", s, err)
	}
	return Amount(n), nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// of reads an amount of an object. Its schema lets nothing else through; if it did, the body would count as empty rather than as full.
func of[T ~string](s T) Amount {
	a, err := Parse(string(s))
	if err != nil {
		return 0
	}
	return a
}

// String returns the amount as a decimal number without needless zeros.
func (a Amount) String() string {
	if a < 0 {
		return "-" + (-a).String()
	}
	s := fmt.Sprintf("%d.%06d", a/Full, a%Full)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Float returns the amount for a monitoring system.
func (a Amount) Float() float64 { return float64(a) / float64(Full) }
