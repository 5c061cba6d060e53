// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The earliest wish counts. A wish for an instant that has passed is not the zero duration, which means never.
func TestWake(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	const late = 10 * time.Millisecond
	for name, tt := range map[string]struct {
		at   []time.Time
		want time.Duration
	}{
		"none":     {nil, 0},
		"zero":     {[]time.Time{{}}, 0},
		"one":      {[]time.Time{now.Add(time.Minute)}, time.Minute + late},
		"earliest": {[]time.Time{now.Add(time.Hour), now.Add(time.Minute), {}, now.Add(time.Hour)}, time.Minute + late},
		"passed":   {[]time.Time{now.Add(-time.Hour)}, late},
	} {
		p := Pass{Now: now}
		for _, at := range tt.at {
			p.Wake(at)
		}
		res := p.Result()
		if got := res.RequeueAfter; got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		// Without a priority of its own, a timer has that of the pass, which is low at the start of a leader.
		if tt.want > 0 && (res.Priority == nil || *res.Priority != 0) {
			t.Errorf("%s: the priority is %v", name, res.Priority)
		}
	}
}

func TestSetCondition(t *testing.T) {
	t.Parallel()
	p := Pass{Now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	var conditions []metav1.Condition
	p.SetCondition(&conditions, 7, "Ready", metav1.ConditionFalse, "TooLong", strings.Repeat("x", 2*MaxMessage))
	if c := conditions[0]; c.ObservedGeneration != 7 || !c.LastTransitionTime.Time.Equal(p.Now) || len(c.Message) > MaxMessage {
		t.Errorf("%+v", c)
	}
}
