// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestBound(t *testing.T) {
	t.Parallel()
	if got := Bound(v1alpha1.Retention{}); got != 1<<30 {
		t.Errorf("the bound of a namespace that sets none is %d", got)
	}
	for text, want := range map[string]int64{"1": 1, "100m": 1, "10Mi": 10 << 20, "2G": 2e9, "1Ti": 1 << 40, "900E": math.MaxInt64} {
		if got := Bound(v1alpha1.Retention{MaxStorage: new(resource.MustParse(text))}); got != want {
			t.Errorf("%s is a bound of %d, want %d", text, got, want)
		}
	}
}

func TestLevelOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		used, bound int64
		want        Level
	}{
		{0, 1000, Free}, {799, 1000, Free}, {800, 1000, Low}, {999, 1000, Low}, {1000, 1000, Full}, {1249, 1000, Full}, {1250, 1000, Over}, {math.MaxInt64, 1000, Over},
		{0, 1, Free}, {1, 1, Full}, {2, 1, Over},
		{math.MaxInt64 / 2, math.MaxInt64, Free}, {math.MaxInt64 - 1, math.MaxInt64, Low}, {math.MaxInt64, math.MaxInt64, Full},
	} {
		if got := LevelOf(tt.used, tt.bound); got != tt.want {
			t.Errorf("%d of %d is %d, want %d", tt.used, tt.bound, got, tt.want)
		}
	}
}

func TestShownLevelIsLeftLate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before Level
		used   int64
		want   Level
	}{
		{Free, 799, Free}, {Free, 800, Low}, {Free, 1000, Full}, {Free, 2000, Full},
		{Low, 790, Low}, {Low, 750, Low}, {Low, 749, Free}, {Low, 1000, Full},
		{Full, 1000, Full}, {Full, 950, Full}, {Full, 949, Low}, {Full, 750, Low}, {Full, 749, Free}, {Full, 0, Free},
		{Over, 2000, Full},
	} {
		if got := Shown(tt.before, tt.used, 1000); got != tt.want {
			t.Errorf("after %d, %d of 1000 is shown as %d, want %d", tt.before, tt.used, got, tt.want)
		}
	}
	if got := Shown(Full, math.MaxInt64-1, math.MaxInt64); got != Full {
		t.Errorf("near the largest number it is shown as %d", got)
	}
}

func TestCoarse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, used, bound, want int64 }{
		{500, 549, 1000, 500}, {500, 550, 1000, 550}, {500, 451, 1000, 500}, {500, 450, 1000, 450}, {0, 1, 3, 1}, {2, 2, 3, 2},
	} {
		if got := Coarse(tt.before, tt.used, tt.bound); got != tt.want {
			t.Errorf("where %d is shown, %d of %d is shown as %d, want %d", tt.before, tt.used, tt.bound, got, tt.want)
		}
	}
}

func TestQuantityIsShort(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		0: "0", 9: "9", 10239: "10239", 10240: "10Ki", 10241: "11Ki", 10<<20 - 1: "10Mi", 10 << 20: "10Mi", 1 << 30: "1Gi", 1<<30 + 1: "1025Mi",
		math.MaxInt64: "8Ei",
	} {
		q := Quantity(bytes)
		if q.String() != want && bytes != math.MaxInt64 || q.Value() < bytes {
			t.Errorf("%d bytes are %s, want %s", bytes, q.String(), want)
		}
		// What is shown is compared with the use of later, so that it must be shown in the same way then.
		if again := Quantity(q.Value()); again.Cmp(q) != 0 {
			t.Errorf("%d bytes are %s, and %s as they are shown", bytes, q.String(), again.String())
		}
	}
}
