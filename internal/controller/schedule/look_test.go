// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestIsOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   bool
	}{
		"the manager's":        {func(*v1alpha1.MotorRun) {}, true},
		"an older version":     {func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].APIVersion = "motorcortex.dev/v1alpha0" }, true},
		"no label":             {func(run *v1alpha1.MotorRun) { run.Labels = nil }, false},
		"another label":        {func(run *v1alpha1.MotorRun) { run.Labels[v1alpha1.LabelSchedule] = "other" }, false},
		"no owner":             {func(run *v1alpha1.MotorRun) { run.OwnerReferences = nil }, false},
		"another schedule":     {func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].UID = "before" }, false},
		"another kind":         {func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].Kind = "Skill" }, false},
		"another group":        {func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].APIVersion = "example.org/v1" }, false},
		"an owner, no more":    {func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].Controller = nil }, false},
		"no version of a kind": {func(run *v1alpha1.MotorRun) { run.OwnerReferences[0].APIVersion = "a/b/c" }, false},
	} {
		if got := isOf(runAt(noon, tt.change), hourly()); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The status must fit, however many runs have not ended.
func TestTheStatusHasTheNewestActiveRuns(t *testing.T) {
	t.Parallel()
	s := &look{schedule: hourly()}
	s.Now = noon
	for i := range 70 {
		s.runs = append(s.runs, runAt(noon.Add(time.Duration(i)*time.Hour), func(run *v1alpha1.MotorRun) { run.UID = types.UID(fmt.Sprint(i)) }))
	}
	if !s.decide() {
		t.Fatal(s.problem)
	}
	s.show()
	if active := s.schedule.Status.Active; len(active) != 64 || active[0].UID != "6" || active[63].UID != "69" {
		t.Errorf("%d: %+v", len(active), active)
	}
}

// A client that may change a run must not be able to tell when the schedule last began one.
func TestStartOf(t *testing.T) {
	t.Parallel()
	says := func(text string) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) { run.Annotations[v1alpha1.AnnotationScheduledAt] = text }
	}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   time.Time
	}{
		"the manager's":      {func(*v1alpha1.MotorRun) {}, noon},
		"nothing":            {func(run *v1alpha1.MotorRun) { run.Annotations = nil }, time.Time{}},
		"another year":       {says("2099-01-01T00:00:00Z"), time.Time{}},
		"no time":            {says("soon"), time.Time{}},
		"another way to say": {says("2026-01-02T13:00:00+01:00"), noon},
	} {
		if got := startOf(runAt(noon, tt.change), "hourly"); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
