// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"strings"
	"testing"
)

func TestAmountsAreReadAndWrittenExactly(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct {
		is  Amount
		out string
	}{
		"0": {0, "0"}, "1": {Full, "1"}, "0.1": {100_000, "0.1"}, "0.000001": {1, "0.000001"}, "1.000000": {Full, "1"}, "0.300000": {300_000, "0.3"},
		"10": {10 * Full, "10"}, "9999999999.999999": {9_999_999_999_999_999, "9999999999.999999"}, "007.5": {7_500_000, "7.5"},
	} {
		got, err := Parse(in)
		if err != nil || got != want.is || got.String() != want.out {
			t.Errorf("%s: %d as %s, %v; want %d as %s", in, got, got, err, want.is, want.out)
		}
	}
	for _, a := range []Amount{-1, -100_000, -Full} {
		if back, err := Parse(strings.TrimPrefix(a.String(), "-")); err != nil || back != -a {
			t.Errorf("%d is written as %s", a, a)
		}
	}
	if f := Amount(250_000).Float(); f != 0.25 {
		t.Errorf("a quarter is %v", f)
	}
}

func TestWhatIsNoAmountIsRefused(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", ".", "1.", ".5", "-1", "+1", "1e3", "0.1234567", "12345678901", "0,5", " 1", "NaN", "0x1", "1.2.3", "١", strings.Repeat("9", 1<<16)} {
		if got, err := Parse(in); err == nil || len(err.Error()) > 200 {
			t.Errorf("%.20q: %d, %v", in, got, err)
		}
	}
	if a := of("broken"); a != 0 {
		t.Errorf("a broken level counts as %s", a)
	}
}
