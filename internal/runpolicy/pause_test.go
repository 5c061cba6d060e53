// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

func acceptedCondition(status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: status, Reason: reason}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change  func(*v1alpha1.MotorRun, *Progress)
		paused  bool
		stopped bool
	}{
		"running":   {func(*v1alpha1.MotorRun, *Progress) {}, false, false},
		"suspended": {func(r *v1alpha1.MotorRun, _ *Progress) { r.Spec.Suspend = true }, true, true},
		"resumed, and the status does not say so yet": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{suspendedSince(metav1.ConditionTrue, 0)}
		}, false, true},
		"resumed": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{suspendedSince(metav1.ConditionFalse, 0)}
		}, false, false},
		"suspended while it asks": {func(r *v1alpha1.MotorRun, p *Progress) {
			r.Spec.Suspend, p.Pending = true, pendingQuestion("q", "Which?", "s", 0)
		}, false, true},
		"asks": {func(_ *v1alpha1.MotorRun, p *Progress) { p.Pending = pendingQuestion("q", "Which?", "s", 0) }, false, false},
		"queued": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{acceptedCondition("False", "Queued")}
		}, true, true},
		"there is no room for it": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{acceptedCondition("False", "StorageFull")}
		}, true, true},
		"there is too little energy for it": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{acceptedCondition("False", "NoEnergy")}
		}, true, true},
		"a copy that waits for a person": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{acceptedCondition("False", "CopiedRun")}
		}, true, true},
		"not accepted for another reason": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{acceptedCondition("False", "ModelSecretNotFound")}
		}, false, false},
		"no node has room": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnschedulable}}
		}, true, true},
		"no replica has a slot": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSlotsTaken}}
		}, true, true},
		"no quota has room": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSandboxRefused, Message: "pods is forbidden: exceeded quota: pods",
			}}
		}, true, true},
		"refused for another reason": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSandboxRefused, Message: "a webhook refused it",
			}}
		}, false, false},
		"no node has room, and it asks": {func(r *v1alpha1.MotorRun, p *Progress) {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnschedulable}}
			p.Pending = pendingQuestion("q", "Which?", "s", 0)
		}, false, true},
		"waits for a retry": {func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{Kind: v1alpha1.InputRetry})
		}, true, false},
	}
	for name, tt := range tests {
		run, p := testRun(), Progress{}
		tt.change(run, &p)
		if got := Paused(run, p); got != tt.paused {
			t.Errorf("%s: paused %t", name, got)
		}
		if got := timeoutAt(Observation{Run: run, Progress: p}, t0).IsZero(); got != tt.stopped {
			t.Errorf("%s: cannot time out %t", name, got)
		}
		if got := Deadline(run, p).IsZero(); got != tt.stopped {
			t.Errorf("%s: has no deadline %t", name, got)
		}
	}
}

func TestCountPause(t *testing.T) {
	t.Parallel()
	var st v1alpha1.PauseStatus
	for i, tt := range []struct {
		at      time.Duration
		paused  bool
		counted time.Duration
	}{
		{0, false, 0},
		{10*sec + 900*time.Millisecond, true, sec},
		{12 * sec, true, 2 * sec},
		{15*sec + time.Millisecond, false, 6 * sec},
		{20 * sec, false, 6 * sec},
		{30 * sec, true, 6 * sec},
		// The clock was set back.
		{25 * sec, true, 6 * sec},
		{25 * sec, false, 6 * sec},
	} {
		CountPause(&st, tt.paused, after(tt.at))
		again := st
		CountPause(&again, tt.paused, after(tt.at))
		if got := pausedFor(st, after(tt.at)); got != tt.counted || (st.StartTime != nil) != tt.paused || again != st {
			t.Errorf("%d: %s counted, %+v", i, got, st)
		}
	}
}

func TestDeadlineAsTheEngineTellsIt(t *testing.T) {
	t.Parallel()
	run := testRun()
	run.Status.Paused.DurationSeconds = 7
	p := Progress{Waited: 5 * sec, Pending: pendingQuestion("q", "Which?", "s", 10*sec)}
	if got := Deadline(run, p); !got.Equal(after(142 * sec)) {
		t.Errorf("while a question is open: %s", got)
	}
	if got := Deadline(run, p.Answering(after(13*sec))); !got.Equal(after(115 * sec)) {
		t.Errorf("when its answer is used: %s", got)
	}
	if got := Deadline(run, Progress{}.Answering(after(13*sec))); !got.Equal(after(107 * sec)) {
		t.Errorf("without a question: %s", got)
	}
	run.Status.Paused.StartTime = new(metav1.NewTime(t0))
	if got := Deadline(run, Progress{}); !got.IsZero() {
		t.Errorf("in a pause: %s", got)
	}
}

// A run rests while nothing in its sandbox can need its way out. One that goes on by itself has it back a minute before.
func TestRests(t *testing.T) {
	t.Parallel()
	asks := func(change ...func(*v1alpha1.MotorRun, *v1alpha1.PendingInput)) func(*v1alpha1.MotorRun, *Progress) {
		return func(r *v1alpha1.MotorRun, _ *Progress) {
			q := pendingQuestion("q", "Which?", "s", 0)
			q.ExpirationTime = metav1.NewTime(after(time.Hour))
			for _, c := range change {
				c(r, q)
			}
			r.Status.PendingInputs = v1alpha1.PendingList(q)
		}
	}
	suspended := func(status metav1.ConditionStatus) func(*v1alpha1.MotorRun, *Progress) {
		return func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Spec.Suspend, r.Status.Conditions = true, []metav1.Condition{suspendedSince(status, 0)}
		}
	}
	both := func(all ...func(*v1alpha1.MotorRun, *Progress)) func(*v1alpha1.MotorRun, *Progress) {
		return func(r *v1alpha1.MotorRun, p *Progress) {
			for _, f := range all {
				f(r, p)
			}
		}
	}
	calls := func(_ *v1alpha1.MotorRun, p *Progress) { p.Running = &RunningCall{ID: "c"} }
	background := func(_ *v1alpha1.MotorRun, p *Progress) { p.InBackground = true }
	servers := func(command ...string) func(*v1alpha1.MotorRun, *Progress) {
		return func(r *v1alpha1.MotorRun, _ *Progress) {
			r.Spec.MCPServers = []v1alpha1.MCPServer{{Name: "m", Command: command}}
		}
	}
	deny := asks(func(_ *v1alpha1.MotorRun, q *v1alpha1.PendingInput) { q.OnTimeout = v1alpha1.OnTimeoutDeny })
	tests := map[string]struct {
		change func(*v1alpha1.MotorRun, *Progress)
		at     time.Duration
		rests  bool
		until  time.Duration
	}{
		"goes its way":                    {change: func(*v1alpha1.MotorRun, *Progress) {}},
		"asks":                            {change: asks(), rests: true},
		"asks about a call":               {change: both(asks(), calls), rests: true},
		"was answered":                    {change: both(asks(), func(r *v1alpha1.MotorRun, _ *Progress) { r.Spec.Responses = testRun("q").Spec.Responses })},
		"has a program in the background": {change: both(asks(), background)},
		"waits for a retry":               {change: asks(func(_ *v1alpha1.MotorRun, q *v1alpha1.PendingInput) { q.Kind = v1alpha1.InputRetry }), rests: true},
		"goes on without an answer":       {change: deny, rests: true, until: 59 * time.Minute},
		"is about to go on":               {change: deny, at: 59 * time.Minute},
		"has an MCP server":               {change: both(asks(), servers("serve")), until: 100 * time.Second},
		"had an MCP server":               {change: both(asks(), servers("serve")), at: 100 * time.Second, rests: true},
		"has an MCP server elsewhere":     {change: both(asks(), servers()), rests: true},
		"is ending":                       {change: both(asks(), func(r *v1alpha1.MotorRun, _ *Progress) { r.Status.Ending = &v1alpha1.RunEnding{} })},
		"has no model":                    {change: both(suspended(metav1.ConditionTrue), func(r *v1alpha1.MotorRun, _ *Progress) { r.Spec.Mode = v1alpha1.ModeOneshot })},
		"suspended":                       {change: suspended(metav1.ConditionTrue), rests: true},
		"suspended, and not yet shown":    {change: suspended(metav1.ConditionFalse)},
		"suspended in a call":             {change: both(suspended(metav1.ConditionTrue), calls), until: longestCall},
		"suspended in a call long ago":    {change: both(suspended(metav1.ConditionTrue), calls), at: longestCall, rests: true},
		"suspended with a program":        {change: both(suspended(metav1.ConditionTrue), background)},
	}
	for name, tt := range tests {
		run, p := testRun(), Progress{}
		tt.change(run, &p)
		var until time.Time
		if tt.until > 0 {
			until = after(tt.until)
		}
		if rests, at := Rests(run, p, observed.Time{}, after(tt.at)); rests != tt.rests || !at.Equal(until) {
			t.Errorf("%s: rests %t until %s", name, rests, at)
		}
	}
}

// A run with a way out goes on when its controller has seen the answer, and any other one at once.
func TestAnswerUnseen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		egress, answered, seen, want bool
	}{
		"not answered":       {egress: true},
		"answered":           {egress: true, answered: true, want: true},
		"answered and seen":  {egress: true, answered: true, seen: true},
		"without any egress": {answered: true},
	} {
		run := testRun()
		if tt.answered {
			run = testRun("q")
		}
		q := pendingQuestion("q", "Which?", "s", 0)
		q.Answered = tt.seen
		run.Status.PendingInputs = v1alpha1.PendingList(q)
		if tt.egress {
			run.Status.Egress = &v1alpha1.EgressStatus{}
		}
		if got := AnswerUnseen(run); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if AnswerUnseen(testRun()) {
		t.Error("a run that asks nothing")
	}
}
