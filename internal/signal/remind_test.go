// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// reminded is a run with an ask that has an hour, of which the receiver is reminded ten minutes before its end.
func reminded(minutes int, asks ...v1alpha1.PendingInput) Run {
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	run := &v1alpha1.MotorRun{}
	run.Name, run.Namespace, run.UID = "run", "ns", "u-1"
	run.Status.PendingInputs = asks
	if len(asks) == 0 {
		run.Status.PendingInputs = []v1alpha1.PendingInput{{
			ID: "a1", Kind: v1alpha1.InputQuestion, Question: "Which?", AskTime: metav1.NewTime(begin), ExpirationTime: metav1.NewTime(begin.Add(time.Hour)),
		}}
	}
	return Run{MotorRun: run, Remind: 10 * time.Minute, Now: begin.Add(time.Duration(minutes) * time.Minute)}
}

func TestAnOpenAskIsToldOnceMoreBeforeItsDeadline(t *testing.T) {
	t.Parallel()
	ask, c := reminded(0).Next(Cursor{}, all)
	if ask == nil || ask.ID != "u-1/run.awaitinginput/a1" || ask.Data.(*Result).Reminder {
		t.Fatalf("got %+v", ask)
	}
	early := reminded(49)
	if s, _ := early.Next(c, all); s != nil || !early.Wake(c).Equal(early.Now.Add(time.Minute)) {
		t.Errorf("after 49 minutes there is %+v, and the next is due at %s", s, early.Wake(c))
	}
	s, c := reminded(50).Next(c, all)
	if s == nil || s.ID != "u-1/run.awaitinginput/a1/reminder" || !s.Data.(*Result).Reminder {
		t.Fatalf("got %+v", s)
	}
	if s, _ := reminded(51).Next(c, all); s != nil || !reminded(51).Wake(c).IsZero() {
		t.Errorf("a second reminder is %+v", s)
	}
}

func TestWhichAsksGetNoReminder(t *testing.T) {
	t.Parallel()
	told := Cursor{Asks: []string{"a1"}}
	begin := reminded(0).Now
	for name, tt := range map[string]struct {
		run    Run
		cursor Cursor
		says   string
	}{
		"told after it was due":       {reminded(55), Cursor{}, "u-1/run.awaitinginput/a1"},
		"over":                        {reminded(60), told, ""},
		"without reminders":           {Run{MotorRun: reminded(55).MotorRun, Now: reminded(55).Now}, told, ""},
		"due before a process began":  {reminded(55), Cursor{Asks: told.Asks, Once: true, From: begin.Add(51 * time.Minute)}, ""},
		"due since a process began":   {reminded(55), Cursor{Once: true, From: begin.Add(49 * time.Minute)}, "u-1/run.awaitinginput/a1/reminder"},
		"answered":                    {reminded(55, v1alpha1.PendingInput{ID: "a1", Answered: true, ExpirationTime: metav1.NewTime(begin.Add(time.Hour))}), told, ""},
		"without a deadline":          {reminded(55, v1alpha1.PendingInput{ID: "a1", AskTime: metav1.NewTime(begin)}), told, ""},
		"with less time than that":    {reminded(55, v1alpha1.PendingInput{ID: "a1", AskTime: metav1.NewTime(begin.Add(52 * time.Minute)), ExpirationTime: metav1.NewTime(begin.Add(time.Hour))}), told, ""},
		"of which the run has ended":  {reminded(55), Cursor{Ended: true}, ""},
		"with a deadline that is far": {reminded(55, v1alpha1.PendingInput{ID: "a1", AskTime: metav1.NewTime(begin), ExpirationTime: metav1.NewTime(begin.Add(24 * time.Hour))}), told, ""},
	} {
		s, c := tt.run.Next(tt.cursor, all)
		got := ""
		if s != nil {
			got = s.ID
		}
		if again, _ := tt.run.Next(c, all); got != tt.says || again != nil {
			t.Errorf("%s: %q, and then %+v", name, got, again)
		}
	}
}

func TestARunThatHasEndedIsNotLookedAtAgain(t *testing.T) {
	t.Parallel()
	if at := reminded(30).Wake(Cursor{Ended: true}); !at.IsZero() {
		t.Errorf("it is looked at again at %s", at)
	}
}

// The wish of a receiver counts for reminders as for asks.
func TestAReminderIsToldToWhoIsToldAsks(t *testing.T) {
	t.Parallel()
	if s, _ := reminded(55).Next(Cursor{Asks: []string{"a1"}}, func(v1alpha1.SignalEvent) bool { return false }); s != nil {
		t.Errorf("got %+v", s)
	}
}
