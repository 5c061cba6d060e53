// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

func TestARunWaitsAsLongAsItsBoundSays(t *testing.T) {
	t.Parallel()
	a := &Attempt{awaySeconds: 3600}
	for want, o := range map[int32]chat.Outage{3600: {}, 90: {WaitsFor: 90 * time.Second}, 1<<31 - 1: {WaitsFor: 1 << 62}} {
		if got := a.waitSeconds(&o); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

// A raise that was too small needs another answer, and the record must say so.
func TestAnotherAskIsAnotherOutage(t *testing.T) {
	t.Parallel()
	asked := &runpolicy.Outage{ModelOutage: v1alpha1.ModelOutage{Ask: &v1alpha1.BudgetAsk{ID: "budget-run-1"}}}
	for name, tt := range map[string]struct {
		last *runpolicy.Outage
		ask  *chat.RaiseAsk
		want bool
	}{
		"the same":  {asked, &chat.RaiseAsk{ID: "budget-run-1"}, true},
		"the next":  {asked, &chat.RaiseAsk{ID: "budget-run-2"}, false},
		"none":      {&runpolicy.Outage{}, nil, true},
		"none now":  {asked, nil, false},
		"the first": {&runpolicy.Outage{}, &chat.RaiseAsk{ID: "budget-run-1"}, false},
	} {
		if got := asksFor(tt.last, tt.ask); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
