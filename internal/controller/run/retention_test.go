// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/schedule"
)

// The run is the only record of a start until its schedule has it. Were the run deleted before, the same start would take place again.
func TestARunOfAScheduleIsKeptUntilItsStartIsRecorded(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	of := func(last *metav1.Time) *v1alpha1.MotorSchedule {
		return &v1alpha1.MotorSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hourly", CreationTimestamp: metav1.NewTime(noon.Add(-90 * time.Minute))},
			Status:     v1alpha1.MotorScheduleStatus{LastScheduleTime: last},
		}
	}
	for name, tt := range map[string]struct {
		label    string
		schedule *v1alpha1.MotorSchedule
		kept     bool
	}{
		"nothing is recorded":         {"hourly", of(nil), true},
		"the start before is":         {"hourly", of(new(metav1.NewTime(noon.Add(-time.Hour)))), true},
		"the start is":                {"hourly", of(new(metav1.NewTime(noon))), false},
		"the schedule is gone":        {"hourly", nil, false},
		"it only looks like a run of": {"", of(nil), false},
	} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: schedule.RunName("hourly", noon), UID: "1"}}
		if tt.label != "" {
			run.Labels = map[string]string{v1alpha1.LabelSchedule: tt.label}
		}
		run.Spec.TTLSecondsAfterFinished, run.Status.CompletionTime = new(int32(0)), new(metav1.NewTime(noon))
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
		builder := fake.NewClientBuilder().WithScheme(retentionScheme(t)).WithObjects(run)
		if tt.schedule != nil {
			builder = builder.WithObjects(tt.schedule)
		}
		c := builder.Build()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			t.Fatal(err)
		}
		r, s := &Reconciler{Client: c, Live: c}, pass.NewRun(run, noon.Add(time.Minute))
		if err := r.retire(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(run), run)
		if err == nil != tt.kept || err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
		if tt.kept && s.Result().RequeueAfter > pass.MaxPause+time.Second {
			t.Errorf("%s: looked at again after %s", name, s.Result().RequeueAfter)
		}
	}
}
