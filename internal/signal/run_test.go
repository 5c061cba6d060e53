// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func minute(n int) metav1.Time { return metav1.NewTime(epoch.Add(time.Duration(n) * time.Minute)) }

func all(v1alpha1.SignalEvent) bool { return true }

func condition(of string, status metav1.ConditionStatus, reason string, at int) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: reason, LastTransitionTime: minute(at)}
}

func newRun(conditions ...metav1.Condition) *v1alpha1.MotorRun {
	r := &v1alpha1.MotorRun{}
	r.Name, r.Namespace, r.UID, r.CreationTimestamp = "run", "ns", "u-1", minute(0)
	r.Status.Conditions = conditions
	return r
}

func accepted() metav1.Condition {
	return condition(v1alpha1.ConditionAccepted, metav1.ConditionTrue, "Accepted", 1)
}

func ended(status metav1.ConditionStatus, reason string, at int) []metav1.Condition {
	return []metav1.Condition{
		accepted(), condition(v1alpha1.ConditionSucceeded, status, reason, at), condition(v1alpha1.ConditionFinished, metav1.ConditionTrue, reason, at),
	}
}

func stepAt(attempt, index int32, content string, at int) *v1alpha1.MotorStep {
	s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: index, Content: content, Tools: "bash"}}
	s.Name, s.CreationTimestamp = fmt.Sprintf("run-a%02d-s%04d", attempt, index), minute(at)
	return s
}

func asking(r *v1alpha1.MotorRun, id string, at int) *v1alpha1.MotorRun {
	r.Status.PendingInputs = []v1alpha1.PendingInput{{ID: id, Kind: v1alpha1.InputQuestion, Question: "Which " + id + "?", AskTime: minute(at)}}
	return r
}

// history is the life of a run: what is known of it after each minute.
func history() []Run {
	return []Run{
		{MotorRun: newRun()},
		{MotorRun: newRun(accepted())},
		{MotorRun: newRun(accepted()), Step: stepAt(1, 1, "I count.", 2)},
		{MotorRun: asking(newRun(accepted()), "a1-s1-c0", 3), Step: stepAt(1, 1, "I count.", 2)},
		{MotorRun: newRun(accepted()), Step: stepAt(2, 1, "I count again.", 4)},
		{MotorRun: asking(newRun(accepted()), "a2-s1-c0", 5), Step: stepAt(2, 1, "I count again.", 4)},
		{MotorRun: newRun(ended(metav1.ConditionTrue, v1alpha1.ReasonCompleted, 6)...)},
	}
}

var whole = []string{
	"u-1/run.started", "u-1/run.progress/a1-s1", "u-1/run.awaitinginput/a1-s1-c0", "u-1/run.progress/a2-s1", "u-1/run.awaitinginput/a2-s1-c0",
	"u-1/run.completed",
}

// told delivers everything that is known of a run, and stops after most signals.
func told(r Run, c Cursor, most int) ([]string, Cursor) {
	var ids []string
	for range most {
		s, next := r.Next(c, all)
		c = next
		if s == nil {
			break
		}
		ids = append(ids, s.ID)
	}
	return ids, c
}

// Whichever states a sink is looked at in, and wherever the process ends between two deliveries: the beginning, the end and each ask that was seen
// open are told, and what is told for the first time is told in order.
func TestNothingIsLostBetweenAnyTwoDeliveries(t *testing.T) {
	t.Parallel()
	states := history()
	last := len(states) - 1
	for seen := range 1 << last {
		for restart := range len(whole) + 1 {
			var got []string
			c, settled := Cursor{From: epoch}, epoch
			for i := range states {
				if i != last && seen&(1<<i) == 0 {
					continue
				}
				ids, next := told(states[i], c, len(whole))
				if cut := restart - len(got); cut >= 0 && cut < len(ids) {
					// The process ends after some of them. The next one knows only the instant before which nothing was left.
					got = append(got, ids[:cut]...)
					ids, next = told(states[i], Cursor{From: settled}, len(whole))
				}
				got, c, settled = append(got, ids...), next, minute(i).Time
			}
			check(t, fmt.Sprintf("seen %06b, restart %d", seen, restart), seen, got)
		}
	}
}

func check(t *testing.T, name string, seen int, got []string) {
	t.Helper()
	at := -1
	for i, id := range got {
		if slices.Contains(got[:i], id) {
			continue
		}
		place := slices.Index(whole, id)
		if place <= at {
			t.Errorf("%s: %s comes too late in %q", name, id, got)
		}
		at = place
	}
	for place, state := range map[int]int{0: -1, 5: -1, 2: 3, 4: 5} {
		if (state < 0 || seen&(1<<state) != 0) && !slices.Contains(got, whole[place]) {
			t.Errorf("%s: %s is missing from %q", name, whole[place], got)
		}
	}
}

func TestAWatchedRunIsToldOnce(t *testing.T) {
	t.Parallel()
	var got []string
	c := Cursor{From: epoch}
	for _, state := range history() {
		for range 2 {
			ids, next := told(state, c, 9)
			got, c = append(got, ids...), next
		}
	}
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A process that begins is told nothing of what was settled, but asks that are open.
func TestAnOpenAskIsToldAgain(t *testing.T) {
	t.Parallel()
	ids, _ := told(history()[5], Cursor{From: minute(9).Time}, 9)
	if diff := cmp.Diff([]string{"u-1/run.awaitinginput/a2-s1-c0"}, ids); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if ids, c := told(history()[6], Cursor{From: minute(9).Time}, 9); ids != nil || !c.Ended {
		t.Errorf("of a run that ended before, %q", ids)
	}
	answered := history()[5]
	answered.Status.PendingInputs[0].Answered = true
	if ids, _ := told(answered, Cursor{From: minute(9).Time}, 9); ids != nil {
		t.Errorf("of an ask that was answered, %q", ids)
	}
}

func TestAnEventThatIsNotWantedIsPassedOver(t *testing.T) {
	t.Parallel()
	wants := func(e v1alpha1.SignalEvent) bool { return e == v1alpha1.SignalRunAwaitingInput }
	s, c := history()[5].Next(Cursor{}, wants)
	if s == nil || s.ID != whole[4] || c.Step != (Position{2, 1}) || !c.Started {
		t.Errorf("got %+v, %+v", s, c)
	}
	if s, c := history()[6].Next(c, wants); s != nil || !c.Ended {
		t.Errorf("got %+v, %+v", s, c)
	}
}

func TestTheEndOfARun(t *testing.T) {
	t.Parallel()
	failure := &v1alpha1.FailureSummary{Category: v1alpha1.CategoryModelFailure, Reason: "ModelUnavailable", Message: "It is away.", LastStepName: "run-a01-s0002", Retryable: true}
	failed := newRun(ended(metav1.ConditionFalse, "ModelUnavailable", 3)...)
	failed.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1, Failure: failure}}
	failed.Status.Result = &v1alpha1.RunResult{Summary: "It is away."}
	refused := newRun(ended(metav1.ConditionFalse, "InputFile", 3)[1:]...)
	refused.Status.Message = "There is no such file."
	for name, tt := range map[string]struct {
		run    Run
		id     string
		status string
		err    *Failure
	}{
		"completed": {Run{MotorRun: newRun(ended(metav1.ConditionTrue, "Completed", 3)...)}, "u-1/run.completed", "completed", nil},
		"cancelled": {Run{MotorRun: newRun(ended(metav1.ConditionFalse, "Cancelled", 3)...)}, "u-1/run.cancelled", "cancelled", nil},
		"failed": {Run{MotorRun: failed}, "u-1/run.failed", "failed", &Failure{
			Message: "It is away.", LastStep: "run-a01-s0002", Category: "ModelFailure", Reason: "ModelUnavailable", Retryable: true,
		}},
		"never accepted": {Run{MotorRun: refused}, "u-1/run.failed", "failed", &Failure{Message: "There is no such file."}},
		"deleted while it ran": {
			Run{MotorRun: newRun(accepted()), Deleted: true}, "u-1/run.cancelled", "cancelled", &Failure{Message: "The run was deleted before it ended."},
		},
		"deleted after its end": {Run{MotorRun: newRun(ended(metav1.ConditionTrue, "Completed", 3)...), Deleted: true}, "u-1/run.completed", "completed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c := tt.run.Next(Cursor{Started: true}, all)
			if s == nil || !c.Ended {
				t.Fatalf("got %+v, %+v", s, c)
			}
			d, ok := s.Data.(*Result)
			if !ok || s.ID != tt.id || d.Status != tt.status || d.RunID != "run" || d.Namespace != "ns" || d.UID != "u-1" || d.Kind != "motor_result" {
				t.Errorf("got %+v with %+v", s, s.Data)
			}
			if diff := cmp.Diff(tt.err, d.Error); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s, _ := tt.run.Next(c, all); s != nil {
				t.Errorf("told again: %+v", s)
			}
		})
	}
}

// A run that asks often takes no more memory.
func TestOnlyOpenAsksAreRemembered(t *testing.T) {
	t.Parallel()
	c := Cursor{Started: true}
	for i := range 1000 {
		id := fmt.Sprintf("a1-s%d-c0", i)
		s, next := Run{MotorRun: asking(newRun(accepted()), id, i)}.Next(c, all)
		if s == nil || !strings.HasSuffix(s.ID, "/"+id) || len(next.Asks) != 1 {
			t.Fatalf("ask %d: %+v, %+v", i, s, next)
		}
		c = next
	}
}

// What is kept of a deleted run tells the same as the run, and only what is kept whole has long texts.
func TestWhatIsKeptOfADeletedRunTellsTheSame(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 1000)
	failed := newRun(ended(metav1.ConditionFalse, v1alpha1.ReasonMaxIterations, 6)...)
	failed.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2, Failure: &v1alpha1.FailureSummary{Message: long, Hint: "Ask for less."}}}
	done := newRun(ended(metav1.ConditionTrue, v1alpha1.ReasonCompleted, 6)...)
	for name, run := range map[string]*v1alpha1.MotorRun{"going": newRun(accepted()), "failed": failed, "done": done} {
		run.Spec.Task, run.Status.Message = long, long
		run.Status.Conditions[0].Message = long
		if name != "going" {
			run.Status.Result = &v1alpha1.RunResult{OK: name == "done", Summary: long, Value: `{"a": 1}`, Stats: v1alpha1.RunStats{ToolCalls: 7}}
		}
		for _, whole := range []bool{true, false} {
			was, is := Run{MotorRun: run, Deleted: true}, Run{MotorRun: Kept(run, whole), Deleted: true}
			for c := (Cursor{From: epoch}); !c.Ended; {
				want, next := was.Next(c, all)
				got, _ := is.Next(c, all)
				if whole && !cmp.Equal(got, want) || !whole && (got.ID != want.ID || !got.Time.Equal(want.Time) || got.Data.(*Result).Status != want.Data.(*Result).Status) {
					t.Errorf("%s, whole %t:\n%s", name, whole, cmp.Diff(want, got))
				}
				c = next
			}
			if encoded, err := json.Marshal(is.MotorRun); err != nil || !whole && len(encoded) > 4<<10 {
				t.Errorf("%s: %d bytes are kept, %v", name, len(encoded), err)
			}
		}
		if got := Kept(run, false).Status.Result; got != nil && (got.Stats.ToolCalls != 7 || got.Summary != "") {
			t.Errorf("%s: the result is %+v", name, got)
		}
	}
}
