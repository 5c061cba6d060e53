// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestTheRateOfStepsIsOverAllRuns(t *testing.T) {
	t.Parallel()
	at := func(seconds ...int) (times []time.Time) {
		for _, s := range seconds {
			times = append(times, time.Unix(int64(s), 0))
		}
		return times
	}
	if got := rateOf(at(10, 12), at(18, 20), 50); got != 10 {
		t.Errorf("2 runs of 50 steps in 10 s: %g steps/s, want 10", got)
	}
	for _, got := range []float64{rateOf(nil, nil, 50), rateOf(at(1), at(1), 50)} {
		if got != 0 {
			t.Errorf("no time: %g steps/s", got)
		}
	}
}

func TestOnlyARunThatSucceededEndedWell(t *testing.T) {
	t.Parallel()
	ended := func(ok bool, reason string) v1alpha1.MotorRun {
		succeeded := metav1.ConditionFalse
		if ok {
			succeeded = metav1.ConditionTrue
		}
		return v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{Result: &v1alpha1.RunResult{OK: ok}, Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionSucceeded, Status: succeeded, Reason: reason},
		}}}
	}
	well, reasons := endsOf([]v1alpha1.MotorRun{ended(true, "Completed"), ended(false, v1alpha1.ReasonTimeout), {}, ended(true, "Completed")})
	if well != 2 || reasons != "2 Completed, 1 Timeout, 1 not ended" {
		t.Errorf("%d ended well: %s", well, reasons)
	}
}
