// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// endedRun is a run that finished so long after t0.
func endedRun(name string, at time.Duration, options ...runOption) v1alpha1.MotorRun {
	run := queueRun(name, 0, append([]runOption{over}, options...)...)
	run.Status.FinishedAt = new(metav1.NewTime(after(at)))
	return run
}

var succeeded = condition(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)

func ttl(seconds int32) runOption {
	return func(run *v1alpha1.MotorRun) { run.Spec.TTLSecondsAfterFinished = &seconds }
}

func archived(run *v1alpha1.MotorRun) { run.Status.Archive = &v1alpha1.ArchiveStatus{Key: "k"} }

func TestRemoveAt(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := map[string]struct {
		run     v1alpha1.MotorRun
		keep    v1alpha1.Retention
		runs    []v1alpha1.MotorRun
		archive bool
		want    time.Duration
	}{
		"succeeded, nobody says":      {run: endedRun("r", sec, succeeded), want: sec + day},
		"failed, nobody says":         {run: endedRun("r", sec), want: sec + 7*day},
		"succeeded, the cortex says":  {run: endedRun("r", sec, succeeded), keep: v1alpha1.Retention{SucceededSeconds: new(int32(60)), FailedSeconds: new(int32(5))}, want: 61 * sec},
		"failed, the cortex says":     {run: endedRun("r", sec), keep: v1alpha1.Retention{SucceededSeconds: new(int32(5)), FailedSeconds: new(int32(60))}, want: 61 * sec},
		"the run says":                {run: endedRun("r", sec, ttl(7)), keep: v1alpha1.Retention{FailedSeconds: new(int32(60))}, want: 8 * sec},
		"the run says, and succeeded": {run: endedRun("r", sec, succeeded, ttl(7)), keep: v1alpha1.Retention{SucceededSeconds: new(int32(60))}, want: 8 * sec},
		"at once":                     {run: endedRun("r", sec, ttl(0)), want: sec},
		"a Oneshot that succeeded":    {run: endedRun("r", sec, succeeded, oneshotMode), want: 601 * sec},
		"a Oneshot that failed":       {run: endedRun("r", sec, oneshotMode), want: 601 * sec},
		"a Oneshot of a cortex":       {run: endedRun("r", sec, oneshotMode), keep: v1alpha1.Retention{FailedSeconds: new(int32(900))}, want: 901 * sec},
		"a Oneshot that says":         {run: endedRun("r", sec, oneshotMode, ttl(7)), keep: v1alpha1.Retention{FailedSeconds: new(int32(900))}, want: 8 * sec},
		"a Oneshot is never too many": {
			run: endedRun("r", sec, oneshotMode), keep: v1alpha1.Retention{MaxFailed: new(int32(0))},
			runs: []v1alpha1.MotorRun{endedRun("r", sec, oneshotMode)}, want: 601 * sec,
		},
		"one too many": {
			run: endedRun("r", sec), keep: v1alpha1.Retention{MaxFailed: new(int32(1))},
			runs: []v1alpha1.MotorRun{endedRun("r", sec), endedRun("s", 2*sec)}, want: sec,
		},
		"one too many of others": {
			run: endedRun("r", 2*sec, ttl(9)), keep: v1alpha1.Retention{MaxFailed: new(int32(1))},
			runs: []v1alpha1.MotorRun{endedRun("r", 2*sec), endedRun("s", sec)}, want: 11 * sec,
		},
		"not archived yet":          {run: endedRun("r", sec, ttl(0)), archive: true, want: sec + time.Hour},
		"archived":                  {run: endedRun("r", sec, ttl(0), archived), archive: true, want: sec},
		"the archive has time":      {run: endedRun("r", sec), archive: true, want: sec + 7*day},
		"no end that anybody knows": {run: queueRun("r", 0, over, ttl(0)), want: -1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := RemoveAt(&tt.run, tt.keep, tt.runs, tt.archive)
			if tt.want < 0 && !got.IsZero() || tt.want >= 0 && !got.Equal(after(tt.want)) {
				t.Errorf("got %s, want %s", got, after(tt.want))
			}
		})
	}
}

func TestSurplus(t *testing.T) {
	t.Parallel()
	runs := []v1alpha1.MotorRun{
		endedRun("f1", 1*sec), endedRun("f3", 3*sec), endedRun("f2", 2*sec), endedRun("f2b", 2*sec),
		endedRun("s1", 1*sec, succeeded), endedRun("s2", 2*sec, succeeded),
		queueRun("active", 0, accepted), queueRun("new", 0), endedRun("going", 9*sec, beingDeleted),
		endedRun("once", 9*sec, oneshotMode), endedRun("once2", 9*sec, succeeded, oneshotMode),
	}
	for name, tt := range map[string]struct {
		keep v1alpha1.Retention
		want []string
	}{
		"no limit":       {},
		"enough room":    {keep: v1alpha1.Retention{MaxFailed: new(int32(4)), MaxSucceeded: new(int32(2))}},
		"the newest":     {keep: v1alpha1.Retention{MaxFailed: new(int32(2)), MaxSucceeded: new(int32(1))}, want: []string{"s1", "f2b", "f1"}},
		"none":           {keep: v1alpha1.Retention{MaxFailed: new(int32(0))}, want: []string{"f3", "f2", "f2b", "f1"}},
		"succeeded only": {keep: v1alpha1.Retention{MaxSucceeded: new(int32(0))}, want: []string{"s2", "s1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range Surplus(tt.keep, slices.Clone(runs)) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
