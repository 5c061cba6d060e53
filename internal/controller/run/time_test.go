// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

// told is a Timekeeper that returns the times of the test.
type told struct {
	now      time.Time
	observed observed.Time
}

func (t *told) Now() time.Time          { return t.now }
func (t *told) Observed() observed.Time { return t.observed }

// A gap counts once, also if the API server drops the field that records it, and a status that is read late does not hide it.
func TestGapsAreCountedOnceUnderAnOlderSchema(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	gap := observed.Gap{From: noon.Add(time.Minute), To: noon.Add(11 * time.Minute)}
	clock := &told{now: noon.Add(12 * time.Minute), observed: observed.Time{Gaps: []observed.Gap{gap}}}
	created := v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "1", CreationTimestamp: metav1.NewTime(noon)}}

	// patch runs a pass with that status of pauses, and returns the one that it writes.
	patch := func(r *Reconciler, seen v1alpha1.PauseStatus) v1alpha1.PauseStatus {
		run := created.DeepCopy()
		run.Status.Paused = *seen.DeepCopy()
		s := pass.NewRun(run, clock.now)
		for range 2 { // A turning point has the journal read a second time.
			r.countGaps(s)
		}
		return s.Run.Status.Paused
	}
	stored := func(r *Reconciler, seen v1alpha1.PauseStatus) v1alpha1.PauseStatus {
		wrote := patch(r, seen)
		r.noteCounted(&created, wrote)
		wrote.ObservedTime = nil
		return wrote
	}

	r := &Reconciler{Time: clock}
	var first, seen v1alpha1.PauseStatus
	for i := range 5 {
		if seen = stored(r, seen); seen.DurationSeconds != 600 {
			t.Fatalf("pass %d: %d s", i+1, seen.DurationSeconds)
		}
	}
	if got := patch(r, first); got.DurationSeconds != 600 {
		t.Errorf("a status that was read before the count: %d s", got.DurationSeconds)
	}
	// The next gap counts, once too, beside a pause that was counted meanwhile.
	clock.observed.Gaps = append(clock.observed.Gaps, observed.Gap{From: noon.Add(20 * time.Minute), To: noon.Add(21 * time.Minute)})
	seen.DurationSeconds += 5
	for range 3 {
		seen = stored(r, seen)
	}
	if seen.DurationSeconds != 665 {
		t.Errorf("after another gap: %d s", seen.DurationSeconds)
	}
	// If the API server stores the field, another process knows it from there.
	kept := patch(r, v1alpha1.PauseStatus{})
	if got := patch(&Reconciler{Time: clock}, kept); got.DurationSeconds != kept.DurationSeconds {
		t.Errorf("another process: %d s, want %d", got.DurationSeconds, kept.DurationSeconds)
	}
}

// A heartbeat that is never written delays the ends of runs, and must not cause passes of each of them without a pause.
func TestOverdueRunsAreLookedAtWithPauses(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		at, until   time.Duration
		least, most time.Duration
	}{
		"not due":                       {time.Minute, time.Minute, 9 * time.Minute, 10 * time.Minute},
		"not due, no heartbeat":         {time.Minute, 30 * time.Second, time.Second, 4 * time.Second},
		"due soon, no heartbeat":        {599 * time.Second, 590 * time.Second, time.Second, 2 * time.Second},
		"overdue, no heartbeat":         {601 * time.Second, 590 * time.Second, time.Second, 2 * time.Second},
		"overdue for long":              {24 * time.Hour, time.Minute, 10 * time.Second, 11 * time.Second},
		"overdue, no heartbeat at all":  {24 * time.Hour, -24 * time.Hour, 10 * time.Second, 11 * time.Second},
		"overdue by less than a moment": {600*time.Second + time.Millisecond, 600*time.Second - time.Millisecond, time.Second, 2 * time.Second},
	} {
		clock := &told{now: noon.Add(tt.at), observed: observed.Time{Until: noon.Add(tt.until)}}
		r := &Reconciler{Time: clock}
		for deadline, attempt := range map[string]v1alpha1.AttemptStatus{
			"the run's own time": {},
			"the retry window": {CompletionTime: new(metav1.NewTime(noon)), Failure: &v1alpha1.FailureSummary{
				Category: v1alpha1.CategoryToolFailure, Reason: "exit_1", Retryable: true,
			}},
		} {
			run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{UID: "1", CreationTimestamp: metav1.NewTime(noon)}}
			run.Spec.MaxAttempts, run.Spec.Limits.ActiveDeadlineSeconds, run.Spec.Limits.RetryDeadlineSeconds = 3, 600, 600
			attempt.Index = 1
			run.Status.Attempts = []v1alpha1.AttemptStatus{attempt}
			s := pass.NewRun(run, clock.now)
			r.countGaps(s)
			s.Decision = runpolicy.Decide(r.observation(s), s.Now)
			if goOn, err := r.conclude(t.Context(), s); err != nil || !goOn || pass.IsFinished(s.Run) {
				t.Fatalf("%s, %s: goes on is %t, %v", deadline, name, goOn, err)
			}
			if got := s.Result().RequeueAfter; got < tt.least || got > tt.most {
				t.Errorf("%s, %s: looked at again after %s", deadline, name, got)
			}
		}
	}
}

// So must those that have ended and are due to be deleted.
func TestRunsThatAreDueToGoAreLookedAtWithPauses(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		at, until   time.Duration
		least, most time.Duration
	}{
		"not due":                      {time.Minute, time.Minute, 9 * time.Minute, 10 * time.Minute},
		"not due, no heartbeat":        {time.Minute, 30 * time.Second, 9 * time.Minute, 10 * time.Minute},
		"due, no heartbeat":            {601 * time.Second, 590 * time.Second, time.Second, 2 * time.Second},
		"due for long":                 {24 * time.Hour, time.Minute, 10 * time.Second, 11 * time.Second},
		"due, no heartbeat at all yet": {24 * time.Hour, -24 * time.Hour, 10 * time.Second, 11 * time.Second},
	} {
		builder := fake.NewClientBuilder().WithScheme(retentionScheme(t))
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "1"}}
		run.Spec.TTLSecondsAfterFinished, run.Status.CompletionTime = new(int32(600)), new(metav1.NewTime(noon))
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
		clock := &told{now: noon.Add(tt.at), observed: observed.Time{Until: noon.Add(tt.until)}}
		r := &Reconciler{Client: builder.WithObjects(run).Build(), Time: clock}
		s := pass.NewRun(run, clock.now)
		if err := r.retire(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := s.Result().RequeueAfter; got < tt.least || got > tt.most {
			t.Errorf("%s: looked at again after %s", name, got)
		}
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
