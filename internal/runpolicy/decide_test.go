// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const sec = time.Second

var (
	startingPod = &sandbox.State{Phase: sandbox.Starting, Reason: v1alpha1.ReasonImagePullFailed, Message: "No image."}
	runningPod  = &sandbox.State{Phase: sandbox.Running, Reason: v1alpha1.ReasonSandboxReady, Message: "Runs."}
	// restartingPod ended 20 s after the run was created.
	restartingPod = &sandbox.State{Phase: sandbox.Restarting, Reason: v1alpha1.ReasonSandboxRestarting, Message: "Has ended.", FinishedAt: after(20 * sec)}
	endedPod      = &sandbox.State{Phase: sandbox.Ended, Reason: v1alpha1.ReasonSandboxCrashed, Message: "Too much."}
)

// lastAttempt returns a run whose operator made all the attempts that it may make without a person.
func lastAttempt(responses ...string) *v1alpha1.MotorRun {
	return withAttempts(testRun(responses...), v1alpha1.CauseFirst, v1alpha1.CauseInfrastructure, v1alpha1.CauseInfrastructure)
}

// everything makes each policy speak at once; the tests take one after the other away.
func everything() Observation {
	o := Observation{Run: lastAttempt(), Sandbox: endedPod, SandboxSince: t0, SandboxGone: true, SandboxStartTimeout: 60 * sec}
	o.Run.Spec.Cancel = true
	o.Progress.Final = new("done")
	o.Progress.Failure = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryToolFailure, Reason: "Why", Message: "It failed."}
	o.Progress.Pending = pendingQuestion("q", "Which?", "s", 10*sec)
	return o
}

func TestDecideOrder(t *testing.T) {
	t.Parallel()
	o := everything()
	now := after(1000 * sec)
	for _, next := range []struct {
		reason   string
		phase    v1alpha1.RunPhase
		category v1alpha1.FailureCategory
		remove   func()
	}{
		{v1alpha1.ReasonCompleted, v1alpha1.PhaseCompleted, "", func() { o.Progress.Final = nil }},
		{"Why", v1alpha1.PhaseFailed, v1alpha1.CategoryToolFailure, func() { o.Progress.Failure = nil }},
		{v1alpha1.ReasonCancelled, v1alpha1.PhaseCancelled, "", func() { o.Run.Spec.Cancel = false }},
		{v1alpha1.ReasonUserResponseTimeout, v1alpha1.PhaseFailed, v1alpha1.CategoryBudgetExhausted, func() { o.Progress.Pending = nil }},
		{v1alpha1.ReasonTimeout, v1alpha1.PhaseFailed, v1alpha1.CategoryBudgetExhausted, func() { now = after(60 * sec) }},
		{v1alpha1.ReasonSandboxLost, v1alpha1.PhaseFailed, v1alpha1.CategoryInfraFailure, func() { o.SandboxGone = false }},
		{v1alpha1.ReasonSandboxCrashed, v1alpha1.PhaseFailed, v1alpha1.CategoryInfraFailure, func() { o.Sandbox = startingPod }},
		{v1alpha1.ReasonSandboxStartTimeout, v1alpha1.PhaseFailed, v1alpha1.CategoryInfraFailure, func() { o.Sandbox = runningPod }},
	} {
		end := Decide(o, now).End
		if end == nil {
			t.Fatalf("nothing is decided, want %s", next.reason)
		}
		if end.Reason != next.reason || end.Phase != next.phase {
			t.Fatalf("got %s %s, want %s %s", end.Phase, end.Reason, next.phase, next.reason)
		}
		if next.category == "" != (end.Failure == nil) || end.Failure != nil && (end.Failure.Category != next.category || end.Failure.Reason != next.reason) {
			t.Errorf("%s: failure %+v", next.reason, end.Failure)
		}
		next.remove()
	}
	if d := Decide(o, now); d.End != nil {
		t.Errorf("nothing is left, and yet %+v", d.End)
	}
}

func TestDecideDeadlines(t *testing.T) {
	t.Parallel()
	base := func(change func(*Observation)) Observation {
		o := Observation{Run: lastAttempt(), Sandbox: runningPod, SandboxSince: after(5 * sec), SandboxStartTimeout: 60 * sec}
		change(&o)
		return o
	}
	pending := pendingQuestion("q", "Which?", "s", 10*sec) // expires after 40 s
	tests := map[string]struct {
		o Observation
		// at is the instant of the decision, reason what it is.
		at     time.Duration
		reason string
	}{
		"the run's own time":        {base(func(*Observation) {}), 100 * sec, v1alpha1.ReasonTimeout},
		"before there is a sandbox": {base(func(o *Observation) { o.Sandbox = nil }), 100 * sec, v1alpha1.ReasonTimeout},
		"people's time comes on top": {
			base(func(o *Observation) { o.Progress.Waited = 45 * sec }), 145 * sec, v1alpha1.ReasonTimeout,
		},
		"the sandbox's start": {base(func(o *Observation) { o.Sandbox = startingPod }), 65 * sec, v1alpha1.ReasonSandboxStartTimeout},
		"room for the sandbox": {
			base(func(o *Observation) {
				o.Sandbox = &sandbox.State{Phase: sandbox.Starting, Reason: v1alpha1.ReasonUnschedulable, Message: "No node."}
				o.Run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnschedulable}}
			}), 24*time.Hour + 5*sec, v1alpha1.ReasonSandboxStartTimeout,
		},
		"the start after the run's own time": {
			base(func(o *Observation) { o.Sandbox, o.SandboxStartTimeout = startingPod, time.Hour }), 100 * sec, v1alpha1.ReasonTimeout,
		},
		"a question": {base(func(o *Observation) { o.Progress.Pending = pending }), 40 * sec, v1alpha1.ReasonUserResponseTimeout},
		"a question that outlives the run's time": {
			base(func(o *Observation) { o.Progress.Pending = pendingQuestion("q", "Which?", "s", 90*sec) }), 120 * sec, v1alpha1.ReasonUserResponseTimeout,
		},
		"an answer that nobody uses": {
			base(func(o *Observation) { o.Run, o.Progress.Pending = lastAttempt("q"), pending }), 130 * sec, v1alpha1.ReasonTimeout,
		},
		"a tool server that does not come up again": {base(func(o *Observation) { o.Sandbox = restartingPod }), 80 * sec, v1alpha1.ReasonSandboxLost},
		"pauses come on top": {
			base(func(o *Observation) { o.Run.Status.Paused.DurationSeconds = 50 }), 150 * sec, v1alpha1.ReasonTimeout,
		},
		"a question in a run that is suspended": {
			base(func(o *Observation) { o.Run.Spec.Suspend, o.Progress.Pending = true, pending }), 40 * sec, v1alpha1.ReasonUserResponseTimeout,
		},
		"an answer that came in a suspension": {
			base(func(o *Observation) {
				o.Run, o.Progress.Pending = lastAttempt("q"), pending
				o.Run.Status.Conditions = []metav1.Condition{suspendedSince(metav1.ConditionFalse, 300*sec)}
			}), 390 * sec, v1alpha1.ReasonTimeout,
		},
		"a later question": {
			base(func(o *Observation) {
				o.Progress.Waited, o.Progress.Pending = 25*sec, pendingQuestion("q", "Which?", "s", 110*sec)
			}), 140 * sec, v1alpha1.ReasonUserResponseTimeout,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := after(tt.at)
			for _, early := range []time.Duration{tt.at, sec, time.Nanosecond} {
				d := Decide(tt.o, now.Add(-early))
				if d.End != nil || !d.WakeAt.Equal(now) {
					t.Errorf("%s before: end %+v, wake at %s, want at %s", early, d.End, d.WakeAt, now)
				}
			}
			for _, late := range []time.Duration{0, time.Nanosecond, 24 * time.Hour} {
				d := Decide(tt.o, now.Add(late))
				if d.End == nil || late < time.Hour && d.End.Reason != tt.reason {
					t.Errorf("%s after: %+v, want %s", late, d.End, tt.reason)
				}
			}
		})
	}
}

func TestDecideMessages(t *testing.T) {
	t.Parallel()
	o := everything()
	if got := Decide(o, t0).End.Message; got != "done" {
		t.Errorf("completed: %q", got)
	}
	o.Progress.Final = new("")
	if Decide(o, t0).End.Phase != v1alpha1.PhaseCompleted {
		t.Error("an empty closing text is none")
	}
	o = Observation{Run: lastAttempt(), Sandbox: startingPod, SandboxSince: t0, SandboxStartTimeout: time.Minute}
	if got := Decide(o, after(time.Minute)).End.Message; !strings.Contains(got, "1m0s") || !strings.Contains(got, "No image.") {
		t.Errorf("start: %q", got)
	}
	o = Observation{Run: lastAttempt(), Sandbox: restartingPod, SandboxStartTimeout: time.Minute}
	if got := Decide(o, after(80*sec)).End.Message; !strings.Contains(got, "Has ended.") || !strings.Contains(got, "again within 1m0s") {
		t.Errorf("restarting: %q", got)
	}
	o = Observation{Run: testRun(), Sandbox: runningPod}
	o.Run.Status.Message = strings.Repeat("漢", 2000)
	end := Decide(o, after(time.Hour)).End
	if !strings.Contains(end.Message, "100 s (spec.limits.activeDeadlineSeconds)") || !strings.Contains(end.Message, "Last: 漢") || len([]rune(end.Message)) > 600 {
		t.Errorf("timeout: %q", end.Message)
	}
	if len(end.Failure.Message) > 1024 {
		t.Errorf("the failure's message has %d bytes", len(end.Failure.Message))
	}
	if diff := cmp.Diff(end, Decide(o, after(2*time.Hour)).End); diff != "" {
		t.Errorf("the message changes with the time:\n%s", diff)
	}
}

// If a node does not know when the tool server ended, the tool server has the whole time to come up again.
func TestRestartWithoutAnInstant(t *testing.T) {
	t.Parallel()
	o := Observation{Run: lastAttempt(), SandboxStartTimeout: 60 * sec, Sandbox: &sandbox.State{Phase: sandbox.Restarting, Message: "Has ended."}}
	if d := Decide(o, after(5*sec)); d.End != nil || !d.WakeAt.Equal(after(65*sec)) {
		t.Errorf("at first: %+v", d)
	}
	o.Run.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSandboxRestarting, LastTransitionTime: metav1.NewTime(after(5 * sec)),
	}}
	if d := Decide(o, after(64*sec)); d.End != nil || !d.WakeAt.Equal(after(65*sec)) {
		t.Errorf("before: %+v", d)
	}
	if e := Decide(o, after(65*sec)).End; e == nil || e.Reason != v1alpha1.ReasonSandboxLost {
		t.Errorf("then: %+v", e)
	}
}

// A suspended run loses nothing while it stands still, whatever happens to its sandbox.
func TestSuspendedRunWaits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Observation){
		"its time":            func(*Observation) {},
		"the sandbox is gone": func(o *Observation) { o.Sandbox, o.SandboxGone = nil, true },
		"the sandbox ended":   func(o *Observation) { o.Sandbox = endedPod },
		"it does not start":   func(o *Observation) { o.Sandbox = startingPod },
		"it does not come up": func(o *Observation) { o.Sandbox = restartingPod },
	} {
		o := Observation{Run: lastAttempt(), Sandbox: runningPod, SandboxSince: t0, SandboxStartTimeout: 60 * sec}
		o.Run.Spec.Suspend = true
		change(&o)
		if d := Decide(o, after(24*time.Hour)); d.End != nil || d.Failure != nil || !d.WakeAt.IsZero() {
			t.Errorf("%s: %+v", name, d)
		}
		o.Run.Spec.Cancel = true
		if e := Decide(o, after(24*time.Hour)).End; e == nil || e.Phase != v1alpha1.PhaseCancelled {
			t.Errorf("%s: cancelled: %+v", name, e)
		}
	}
}

// Text in a status is cut as text, however broken it is.
func TestCutEncodedTakesBrokenText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"\xff", "a\xff", strings.Repeat("\xff", 100), strings.Repeat("漢\xe6\xbc", 50), strings.Repeat("a", 9) + "\xff"} {
		for limit := 3; limit < 40; limit++ {
			got := fit.CutEncoded(s, limit)
			if encoded, err := json.Marshal(got); err != nil || !utf8.ValidString(got) || len(encoded)-2 > limit {
				t.Errorf("%q cut to %d bytes is %q (%v)", s, limit, got, err)
			}
		}
	}
}

// The text about a question without an answer shows what the model would have chosen, and how to have it count.
func TestAnUnansweredQuestionNamesItsDefault(t *testing.T) {
	t.Parallel()
	o := Observation{Run: testRun(), Sandbox: runningPod}
	o.Progress.Pending = pendingQuestion("q", "Which?", "s", 10*sec)
	o.Progress.Pending.Default = "blue"
	for choice, want := range map[string]bool{"blue": true, "": false} {
		o.Progress.Pending.Default = choice
		d := Decide(o, after(40*sec))
		if d.End == nil || d.End.Reason != v1alpha1.ReasonUserResponseTimeout || strings.Contains(d.End.Message, `The model would choose "blue"`) != want {
			t.Errorf("%q: %+v", choice, d.End)
		}
	}
}
