// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

// timekeeper is a clock that is set by hand, with the observed time of managers.
type timekeeper struct {
	now      time.Time
	observed observed.Time
}

func (t timekeeper) Now() time.Time          { return t.now }
func (t timekeeper) Observed() observed.Time { return t.observed }

func TestDeadlinesGoByTheTimeThatIsKnown(t *testing.T) {
	t.Parallel()
	wrong := func() time.Time { return enginetest.Noon.Add(time.Hour) }
	for name, tt := range map[string]struct {
		time runenv.Timekeeper
		want time.Duration
	}{
		"the process's clock":    {nil, 0},
		"the API server's clock": {timekeeper{now: enginetest.Noon}, time.Minute},
		"it has passed":          {timekeeper{now: enginetest.Noon.Add(time.Minute)}, 0},
		"nothing known since":    {timekeeper{enginetest.Noon.Add(time.Hour), observed.Time{Until: enginetest.Noon}}, 10 * time.Second},
		"almost":                 {timekeeper{enginetest.Noon.Add(time.Hour), observed.Time{Until: enginetest.Noon.Add(time.Minute - 1)}}, 10 * time.Second},
		"it lies ahead":          {timekeeper{enginetest.Noon.Add(30 * time.Second), observed.Time{Until: enginetest.Noon}}, 30 * time.Second},
		"behind for a moment":    {timekeeper{enginetest.Noon.Add(time.Minute), observed.Time{Until: enginetest.Noon.Add(time.Minute - 1)}}, time.Second},
	} {
		e := &Engine{Now: wrong, Time: tt.time}
		if got := e.until(enginetest.Noon.Add(time.Minute)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
