// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestSettledUntil(t *testing.T) {
	t.Parallel()
	early, late := metav1.NewTime(at(t, "2026-01-02T12:00:00Z")), metav1.NewTime(at(t, "2026-01-02T13:00:00Z"))
	for name, tt := range map[string]struct {
		last *metav1.Time
		skip *v1alpha1.SkippedStart
		want time.Time
	}{
		"nothing":                      {nil, nil, time.Time{}},
		"a start":                      {&early, nil, early.Time},
		"one that was too late":        {&early, &v1alpha1.SkippedStart{Time: late, Reason: v1alpha1.SkippedTooLate}, late.Time},
		"one that was refused":         {nil, &v1alpha1.SkippedStart{Time: late, Reason: v1alpha1.SkippedRefused}, late.Time},
		"one that waits for a run":     {&early, &v1alpha1.SkippedStart{Time: late, Reason: v1alpha1.SkippedStillActive}, early.Time},
		"one that was left out before": {&late, &v1alpha1.SkippedStart{Time: early, Reason: v1alpha1.SkippedTooLate}, late.Time},
	} {
		if got := SettledUntil(&v1alpha1.MotorScheduleStatus{LastScheduleTime: tt.last, LastSkipped: tt.skip}); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	created, noon := at(t, "2026-01-02T11:59:10Z"), at(t, "2026-01-02T12:00:00Z")
	started := func(at time.Time) v1alpha1.MotorScheduleStatus {
		return v1alpha1.MotorScheduleStatus{LastScheduleTime: new(metav1.NewTime(at))}
	}
	for name, tt := range map[string]struct {
		run    string
		status v1alpha1.MotorScheduleStatus
		want   bool
	}{
		"nothing is stored":            {RunName("hourly", noon), v1alpha1.MotorScheduleStatus{}, false},
		"the start before is":          {RunName("hourly", noon), started(noon.Add(-time.Hour)), false},
		"the start is":                 {RunName("hourly", noon), started(noon), true},
		"a later one is":               {RunName("hourly", noon), started(noon.Add(time.Hour)), true},
		"a start within a minute is":   {RunName("hourly", noon.Add(30*time.Second)), started(noon.Add(30 * time.Second)), true},
		"it was refused":               {RunName("hourly", noon), v1alpha1.MotorScheduleStatus{LastSkipped: &v1alpha1.SkippedStart{Time: metav1.NewTime(noon), Reason: v1alpha1.SkippedRefused}}, true},
		"it waits":                     {RunName("hourly", noon), v1alpha1.MotorScheduleStatus{LastSkipped: &v1alpha1.SkippedStart{Time: metav1.NewTime(noon), Reason: v1alpha1.SkippedStillActive}}, false},
		"a schedule of the same name":  {RunName("hourly", noon.Add(-time.Hour)), v1alpha1.MotorScheduleStatus{}, true},
		"a name that no start has":     {"hourly-x7k2p", v1alpha1.MotorScheduleStatus{}, true},
		"the name of another schedule": {RunName("daily", noon), v1alpha1.MotorScheduleStatus{}, true},
	} {
		s := &v1alpha1.MotorSchedule{ObjectMeta: metav1.ObjectMeta{Name: "hourly", CreationTimestamp: metav1.NewTime(created)}, Status: tt.status}
		if got := Records(s, tt.run); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
