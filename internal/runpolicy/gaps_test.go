// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// noon is when the runs of these tests are created, at is so many minutes later.
var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func gaps(minutes ...int) (list []observed.Gap) {
	for i := 0; i < len(minutes); i += 2 {
		list = append(list, observed.Gap{From: at(minutes[i]), To: at(minutes[i+1])})
	}
	return list
}

func observedRun() *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{}
	run.CreationTimestamp = metav1.NewTime(noon)
	run.Spec.Limits.ActiveDeadlineSeconds, run.Spec.Limits.InputDeadlineSeconds, run.Spec.Limits.RetryDeadlineSeconds = 600, 600, 600
	return run
}

// A deadline of a run or an attempt passes after the same counted time, however long no manager led, and never while that is not known.
func TestGapsEndNothing(t *testing.T) {
	t.Parallel()
	hour := gaps(5, 65)
	failure := &v1alpha1.FailureSummary{Category: v1alpha1.CategoryToolFailure, Reason: "exit_1", Retryable: true}
	tests := map[string]struct {
		change func(*Observation)
		over   func(Decision) bool
	}{
		"timeoutSeconds": {
			func(*Observation) {},
			func(d Decision) bool { return d.End != nil && d.End.Reason == v1alpha1.ReasonTimeout },
		},
		"an answer": {
			func(o *Observation) {
				o.Progress.Pending = &v1alpha1.PendingInput{
					ID: "q", Kind: v1alpha1.InputQuestion, AskTime: metav1.NewTime(noon), ExpirationTime: metav1.NewTime(at(10)),
				}
			},
			func(d Decision) bool { return d.End != nil && d.End.Reason == v1alpha1.ReasonUserResponseTimeout },
		},
		"the retry window": {
			func(o *Observation) {
				o.Run.Spec.MaxAttempts = 3
				o.Run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1, Failure: failure, CompletionTime: new(metav1.NewTime(noon))}}
			},
			func(d Decision) bool { return d.End != nil },
		},
		"the start of the sandbox": {
			func(o *Observation) {
				o.Run.Spec.Limits.ActiveDeadlineSeconds = 86400
				o.Sandbox, o.SandboxSince, o.SandboxStartTimeout = &sandbox.State{Phase: sandbox.Starting}, noon, 10*time.Minute
			},
			func(d Decision) bool { return d.Failure != nil },
		},
	}
	for name, tt := range tests {
		decide := func(observed observed.Time, now time.Time) bool {
			o := Observation{Run: observedRun(), Observed: observed}
			tt.change(&o)
			o.Progress.Extend(o.Run, observed)
			CountGaps(o.Run, o.Progress, observed)
			return tt.over(Decide(o, now))
		}
		for what, want := range map[string]struct {
			observed observed.Time
			now      time.Time
			over     bool
		}{
			"no gap":                    {observed.Time{}, at(10), true},
			"the gap":                   {observed.Time{Gaps: hour}, at(69), false},
			"the gap, and all the time": {observed.Time{Gaps: hour}, at(70), true},
			"nothing known since":       {observed.Time{Until: at(5)}, at(70), false},
			"no heartbeat seen":         {observed.Time{Until: time.Time{}.Add(time.Second)}, at(70), false},
		} {
			if got := decide(want.observed, want.now); got != want.over {
				t.Errorf("%s, %s: over is %t", name, what, got)
			}
		}
	}
}

func TestWhatIsDecidedInAGapHasATime(t *testing.T) {
	t.Parallel()
	o := Observation{Run: observedRun(), Observed: observed.Time{Until: time.Time{}.Add(time.Second)}, SandboxGone: true}
	o.Run.Spec.MaxAttempts = 3
	if d := Decide(o, at(3)); d.Next == nil || !d.FinishedAt.Time.Equal(at(3)) {
		t.Errorf("decision %+v", d)
	}
}

func TestOutageOfTheModelDoesNotEndInAGap(t *testing.T) {
	t.Parallel()
	p := Progress{Outage: &Outage{Since: at(1)}}
	p.Outage.DeadlineSeconds = 600
	run := observedRun()
	p.Extend(run, observed.Time{Gaps: gaps(5, 65)})
	if got := p.Outage.Until(run); !got.Equal(at(71)) {
		t.Errorf("until %s", got)
	}
}

func TestApprovalNamesTheInstantUntilWhenItCounts(t *testing.T) {
	t.Parallel()
	q := &v1alpha1.PendingInput{
		ID: "q", Kind: v1alpha1.InputApproval, AskTime: metav1.NewTime(noon), ExpirationTime: metav1.NewTime(at(15)), Action: &v1alpha1.PendingAction{Tool: "bash"},
	}
	p := Progress{Pending: q}
	p.Extend(observedRun(), observed.Time{Gaps: gaps(5, 65)})
	if !q.ExpirationTime.Time.Equal(at(75)) || !strings.Contains(q.Question, "2026-11-01T13:15:00Z") {
		t.Errorf("expires at %s: %s", q.ExpirationTime, q.Question)
	}
}

// A gap is counted once: what a pause, a question or an outage counts of it is not counted again.
func TestGapsAreCountedOnce(t *testing.T) {
	t.Parallel()
	pending := func(minutes int) Progress {
		return Progress{Pending: &v1alpha1.PendingInput{AskTime: metav1.NewTime(at(minutes)), ExpirationTime: metav1.NewTime(at(minutes + 10))}}
	}
	tests := map[string]struct {
		paused v1alpha1.PauseStatus
		p      Progress
		gaps   []observed.Gap
		want   int64
	}{
		"no gap":                    {},
		"one":                       {gaps: gaps(5, 65), want: 3600},
		"created in it":             {gaps: gaps(-60, 5), want: 300},
		"before it was created":     {gaps: gaps(-60, -5)},
		"two":                       {gaps: gaps(5, 6, 8, 10), want: 180},
		"suspended in it":           {paused: v1alpha1.PauseStatus{StartTime: new(metav1.NewTime(at(2)))}, gaps: gaps(5, 65)},
		"suspended in the midst":    {paused: v1alpha1.PauseStatus{StartTime: new(metav1.NewTime(at(15)))}, gaps: gaps(5, 65), want: 600},
		"suspended after it":        {paused: v1alpha1.PauseStatus{StartTime: new(metav1.NewTime(at(66)))}, gaps: gaps(5, 65), want: 3600},
		"a question in it":          {p: pending(3), gaps: gaps(5, 65)},
		"an outage in it":           {p: Progress{Outage: &Outage{Since: at(3)}}, gaps: gaps(5, 65)},
		"counted before":            {paused: v1alpha1.PauseStatus{ObservedTime: new(metav1.NewTime(at(65)))}, gaps: gaps(5, 65)},
		"the first of two counted":  {paused: v1alpha1.PauseStatus{ObservedTime: new(metav1.NewTime(at(6)))}, gaps: gaps(5, 6, 8, 10), want: 120},
		"it has grown by a merge":   {paused: v1alpha1.PauseStatus{ObservedTime: new(metav1.NewTime(at(6)))}, gaps: gaps(5, 10), want: 240},
		"pauses before are counted": {paused: v1alpha1.PauseStatus{DurationSeconds: 7}, gaps: gaps(5, 6), want: 67},
	}
	for name, tt := range tests {
		run := observedRun()
		run.Status.Paused = tt.paused
		for range 2 {
			CountGaps(run, tt.p, observed.Time{Gaps: tt.gaps})
		}
		if got := run.Status.Paused.DurationSeconds; got != tt.want {
			t.Errorf("%s: %d s, want %d", name, got, tt.want)
		}
	}
}
