// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"testing"
	"time"
)

// noon is when the tests begin, at is so many minutes later.
var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func gaps(minutes ...int) (list []Gap) {
	for i := 0; i < len(minutes); i += 2 {
		list = append(list, Gap{at(minutes[i]), at(minutes[i+1])})
	}
	return list
}

func TestDeadlinesAreMovedByGaps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		gaps           []Gap
		from, deadline int
		want           int
	}{
		"none":                              {nil, 0, 10, 10},
		"before it":                         {gaps(-30, -20), 0, 10, 10},
		"it began in one":                   {gaps(-30, 5), 0, 10, 15},
		"within":                            {gaps(2, 62), 0, 10, 70},
		"over the deadline":                 {gaps(9, 69), 0, 10, 70},
		"after it":                          {gaps(10, 70), 0, 10, 10},
		"two":                               {gaps(2, 3, 5, 8), 0, 10, 14},
		"the first one moves it behind the": {gaps(2, 12, 15, 25), 0, 10, 30},
	}
	for name, tt := range tests {
		o := Time{Gaps: tt.gaps}
		if got := o.Extend(at(tt.from), at(tt.deadline)); !got.Equal(at(tt.want)) {
			t.Errorf("%s: %s, want %s", name, got, at(tt.want))
		}
		// The same seen from the other side: what has lasted so long.
		if o.Shifted(at(tt.from), at(tt.want)).Before(at(tt.deadline)) || !o.Shifted(at(tt.from), at(tt.want).Add(-time.Second)).Before(at(tt.deadline)) {
			t.Errorf("%s: Shifted does not agree with Extend", name)
		}
	}
	if !(Time{Gaps: gaps(0, 5)}).Extend(noon, time.Time{}).IsZero() {
		t.Error("what has no deadline has got one")
	}
}
