// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
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

// A step whose write fails is recorded at the next start, or was recorded all the same, or never is. Its answer was paid once in each case.
func TestAnAnswerThatCouldNotBeRecordedStaysPaid(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// found is what the steps have at the next start, and before it ends.
		found, end int64
		want       int64
	}{
		"recorded from memory":    {100, 140, 140},
		"recorded all the same":   {140, 140, 140},
		"never recorded":          {100, 100, 140},
		"asked anew and recorded": {100, 150, 190},
	} {
		var p paid
		if got := p.resume(budget.Spent{Tokens: 90}); got.Tokens != 90 {
			t.Errorf("%s: at first %d", name, got.Tokens)
		}
		p.pause(budget.Spent{Tokens: 140}, budget.Spent{Tokens: 100})
		used := p.resume(budget.Spent{Tokens: tt.found})
		if used.Tokens != 140 {
			t.Errorf("%s: then %d", name, used.Tokens)
		}
		if name == "asked anew and recorded" {
			used.Tokens += 50
		}
		p.pause(used, budget.Spent{Tokens: tt.end})
		if got := p.resume(budget.Spent{Tokens: tt.end}); got.Tokens != tt.want {
			t.Errorf("%s: at the end %d, want %d", name, got.Tokens, tt.want)
		}
	}
}
