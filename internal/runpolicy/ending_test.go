// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestLookUntil(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	completed, cancelled := &End{Phase: v1alpha1.PhaseCompleted}, cancelledEnd(testRun())
	for name, tt := range map[string]struct {
		change func(*Observation)
		end    *End
		after  time.Duration
		want   time.Duration
	}{
		"a success has minutes":          {nil, completed, 0, lookAfterSuccess},
		"another end has less":           {nil, cancelled, 0, lookOtherwise},
		"which are counted":              {nil, cancelled, 40 * time.Second, lookOtherwise},
		"and over":                       {nil, cancelled, lookOtherwise, 0},
		"no step, nothing left behind":   {func(o *Observation) { o.Progress.LastStep = "" }, cancelled, 0, 0},
		"everything was collected":       {func(o *Observation) { o.Progress.Closed = true }, completed, 0, 0},
		"code leaves nothing behind":     {func(o *Observation) { o.Run.Spec.Mode = v1alpha1.ModeOneshot }, completed, 0, 0},
		"but its step is closed":         {func(o *Observation) { o.Run.Spec.Mode = v1alpha1.ModeOneshot }, cancelled, 0, lookOtherwise},
		"unless its call has a result":   {func(o *Observation) { o.Run.Spec.Mode, o.Progress.Running = v1alpha1.ModeOneshot, nil }, cancelled, 0, 0},
		"an installation leaves nothing": {func(o *Observation) { o.Run.Spec.Mode = v1alpha1.ModeInstall }, completed, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Observation{Run: testRun(), Progress: Progress{LastStep: "s", Running: &RunningCall{}}}
			if tt.after > 0 {
				o.Run.Status.Ending = &v1alpha1.RunEnding{DecisionTime: metav1.NewTime(start)}
			}
			if tt.change != nil {
				tt.change(&o)
			}
			want := time.Time{}
			if tt.want > 0 {
				want = start.Add(tt.want)
			}
			if got := LookUntil(o, tt.end, start.Add(tt.after)); !got.Equal(want) {
				t.Errorf("the end waits until %s, want %s", got, want)
			}
		})
	}
}

// A decided end stays, whatever comes after it; but an end that a step records did happen.
func TestAnEndThatWasDecidedStays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	o := Observation{Run: testRun(), Progress: Progress{LastStep: "s"}}
	o.Run.CreationTimestamp = metav1.NewTime(now)
	late := timedOut(o, now.Add(24*time.Hour))
	o.Run.Status.Ending = EndingOf(o, late, now)
	if d := Decide(o, now); d.End == nil || d.End.Reason != v1alpha1.ReasonTimeout || d.End.Failure == nil || d.End.Message != late.Message {
		t.Errorf("after a timeout: %+v", d.End)
	}
	if e := EndingOf(o, late, now.Add(time.Minute)); !e.DecisionTime.Equal(new(metav1.NewTime(now))) {
		t.Errorf("the next pass counts the time of the end from %s, want %s", e.DecisionTime, now)
	}
	o.Run.Status.Ending = nil
	o.Run.Status.Ending = EndingOf(o, cancelledEnd(testRun()), now)
	if d := Decide(o, now); d.End == nil || d.End.Phase != v1alpha1.PhaseCancelled {
		t.Errorf("after a cancel: %+v", d.End)
	}
	o.Progress.Final = new("done")
	if d := Decide(o, now); d.End == nil || d.End.Phase != v1alpha1.PhaseCompleted {
		t.Errorf("with a result in the journal: %+v", d.End)
	}
	o.Run.Status.Ending = nil
	if e := EndingOf(o, &End{Phase: v1alpha1.PhaseCompleted, Reason: "Completed", Message: "done"}, now); e.Message != "" || e.Failure != nil {
		t.Errorf("what the step says is said again: %+v", e)
	}
}
