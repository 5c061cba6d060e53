// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// timekeeper is a clock that is set by hand, and what is known of the time.
type timekeeper struct {
	now      time.Time
	observed runpolicy.Observed
}

func (t timekeeper) Now() time.Time               { return t.now }
func (t timekeeper) Observed() runpolicy.Observed { return t.observed }

func TestDeadlinesGoByTheTimeThatIsKnown(t *testing.T) {
	t.Parallel()
	wrong := func() time.Time { return noon.Add(time.Hour) }
	for name, tt := range map[string]struct {
		time Timekeeper
		want time.Duration
	}{
		"the process's clock":    {nil, 0},
		"the API server's clock": {timekeeper{now: noon}, time.Minute},
		"it has passed":          {timekeeper{now: noon.Add(time.Minute)}, 0},
		"nothing known since":    {timekeeper{noon.Add(time.Hour), runpolicy.Observed{Until: noon}}, 10 * time.Second},
		"almost":                 {timekeeper{noon.Add(time.Hour), runpolicy.Observed{Until: noon.Add(time.Minute - 1)}}, 10 * time.Second},
		"it lies ahead":          {timekeeper{noon.Add(30 * time.Second), runpolicy.Observed{Until: noon}}, 30 * time.Second},
		"behind for a moment":    {timekeeper{noon.Add(time.Minute), runpolicy.Observed{Until: noon.Add(time.Minute - 1)}}, time.Second},
	} {
		e := &Engine{Now: wrong, Time: tt.time}
		if got := e.until(noon.Add(time.Minute)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
