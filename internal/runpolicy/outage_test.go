// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// awayAt returns the outage that the step of that index waits for, found at a time.
func awayAt(attempt, index int32, at time.Duration) v1alpha1.MotorStep {
	s := testStep(attempt, index, func(s *v1alpha1.MotorStep) {
		s.Spec.Type, s.Spec.Outage = v1alpha1.StepOutage, &v1alpha1.ModelOutage{Reason: "ModelUnavailable", DeadlineSeconds: 3600}
		s.Status.FailedUsage = v1alpha1.Usage{PromptTokens: 5, TotalTokens: 5}
	})
	s.CreationTimestamp = metav1.NewTime(after(at))
	return s
}

func stepAt(attempt, index int32, at time.Duration, options ...stepOption) v1alpha1.MotorStep {
	s := testStep(attempt, index, options...)
	s.CreationTimestamp = metav1.NewTime(after(at))
	return s
}

// An outage lasts from its own record to that of the step which waited, or the end of its attempt. It is no answer, and its tries count.
func TestOutages(t *testing.T) {
	t.Parallel()
	ended := func(causes ...v1alpha1.AttemptCause) *v1alpha1.MotorRun { return withAttempts(testRun(), causes...) }
	for name, tt := range map[string]struct {
		run   *v1alpha1.MotorRun
		steps []v1alpha1.MotorStep
		away  time.Duration
		open  bool
		turns int32
	}{
		"none":            {testRun(), []v1alpha1.MotorStep{stepAt(1, 1, 0)}, 0, false, 1},
		"it lasts":        {testRun(), []v1alpha1.MotorStep{stepAt(1, 1, 0), awayAt(1, 2, 10*sec)}, 0, true, 1},
		"it is over":      {testRun(), []v1alpha1.MotorStep{awayAt(1, 1, 10*sec), stepAt(1, 1, 40*sec)}, 30 * sec, false, 1},
		"two":             {testRun(), []v1alpha1.MotorStep{awayAt(1, 1, 10*sec), stepAt(1, 1, 40*sec), awayAt(1, 2, 50*sec), stepAt(1, 2, 55*sec)}, 35 * sec, false, 2},
		"given up":        {testRun(), []v1alpha1.MotorStep{awayAt(1, 1, 10*sec), stepAt(1, 1, 40*sec, outcome("ModelUnavailable"))}, 30 * sec, false, 0},
		"of a lost one":   {ended(v1alpha1.CauseFirst, v1alpha1.CauseRetry), []v1alpha1.MotorStep{awayAt(1, 1, 2*sec)}, 3 * sec, false, 0},
		"and of the next": {ended(v1alpha1.CauseFirst, v1alpha1.CauseRetry), []v1alpha1.MotorStep{awayAt(1, 1, 2*sec), awayAt(2, 1, 20*sec)}, 3 * sec, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ReadJournal(tt.run, tt.steps)
			if p.Away != tt.away || (p.Outage != nil) != tt.open || p.Turns != tt.turns {
				t.Errorf("away %s, open %+v, %d turns", p.Away, p.Outage, p.Turns)
			}
			tries := int64(0)
			for i := range tt.steps {
				tries += tt.steps[i].Status.FailedUsage.TotalTokens
			}
			if p.Usage.TotalTokens != tries {
				t.Errorf("usage %+v, the tries cost %d", p.Usage, tries)
			}
		})
	}
}

// The cost of failed tries counts for the run, and for their attempt. Usage that an endpoint did not report stays an estimate.
func TestTriesOfAnAttempt(t *testing.T) {
	t.Parallel()
	run := withAttempts(testRun(), v1alpha1.CauseFirst, v1alpha1.CauseRetry)
	turn := stepAt(2, 1, 40*sec, usage(10, 1))
	turn.Spec.FailedUsage = v1alpha1.Usage{PromptTokens: 3, TotalTokens: 3, Estimated: true}
	p := ReadJournal(run, []v1alpha1.MotorStep{awayAt(1, 1, 2*sec), awayAt(2, 1, 20*sec), turn})
	want := v1alpha1.Usage{PromptTokens: 18, CompletionTokens: 1, CachedTokens: 1, TotalTokens: 19, Estimated: true}
	if p.AttemptUsage != want {
		t.Errorf("the attempt took %+v, want %+v", p.AttemptUsage, want)
	}
	want.PromptTokens, want.TotalTokens = 23, 24
	if p.Usage != want {
		t.Errorf("the run took %+v, want %+v", p.Usage, want)
	}
}

// The run's time stands still while its model is away: it is not over before its worker has given up, and goes on from there.
func TestOutageStopsTheClock(t *testing.T) {
	t.Parallel()
	run := testRun()
	run.Spec.Limits.ActiveDeadlineSeconds = 60
	open := ReadJournal(run, []v1alpha1.MotorStep{awayAt(1, 1, 10*sec)})
	if at, want := Deadline(run, open), after(60*sec+time.Hour+outageGrace); !at.Equal(want) {
		t.Errorf("while it lasts the deadline is %s, want %s", at, want)
	}
	if Paused(run, open) {
		t.Error("it is counted twice")
	}
	if at, want := Deadline(run, open.Answering(after(40*sec))), after(90*sec); !at.Equal(want) {
		t.Errorf("as if it were over the deadline is %s, want %s", at, want)
	}
	over := ReadJournal(run, []v1alpha1.MotorStep{awayAt(1, 1, 10*sec), stepAt(1, 1, 40*sec)})
	if at, want := Deadline(run, over), after(90*sec); !at.Equal(want) {
		t.Errorf("when it is over the deadline is %s, want %s", at, want)
	}
	// The model was not called while the run was suspended.
	run.Status.Conditions = []metav1.Condition{suspendedSince(metav1.ConditionFalse, 30*time.Minute)}
	if at, want := open.Outage.Until(run), after(90*time.Minute); !at.Equal(want) {
		t.Errorf("after a suspension it is waited until %s, want %s", at, want)
	}
	run.Spec.Suspend = true
	if Paused(run, open) {
		t.Error("a suspension in an outage is counted twice")
	}
}

// The status has the later values, and does not change the time.
func TestOutageOf(t *testing.T) {
	t.Parallel()
	s := awayAt(1, 1, sec)
	s.Status.Outage = &v1alpha1.ModelOutage{Reason: "ModelUnauthorized", MustAct: true, DeadlineSeconds: 7}
	if o := OutageOf(&s); o.Reason != "ModelUnauthorized" || !o.MustAct || o.DeadlineSeconds != 3600 {
		t.Errorf("got %+v", o)
	}
	turn := testStep(1, 1)
	if OutageOf(&turn) != nil {
		t.Error("a turn is no outage")
	}
}

// A raise holds for other runs too, so only an answer to an ask that is in the journal counts there.
func TestAskedRaisesAreThoseOfTheJournal(t *testing.T) {
	t.Parallel()
	asks := func(id string) *v1alpha1.ModelOutage { return &v1alpha1.ModelOutage{Ask: &v1alpha1.BudgetAsk{ID: id}} }
	first, later := awayAt(1, 1, sec), awayAt(1, 2, 2*sec)
	first.Spec.Outage = asks("budget-day-20261127-1")
	later.Spec.Outage, later.Status.Outage = asks("budget-day-20261127-2"), asks("budget-day-20261127-3")
	got := AskedRaises([]v1alpha1.MotorStep{stepAt(1, 1, 0), first, later, awayAt(1, 3, 3*sec)})
	if want := []string{"budget-day-20261127-1", "budget-day-20261127-2", "budget-day-20261127-3"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
