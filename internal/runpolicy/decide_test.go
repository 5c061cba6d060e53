// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const sec = time.Second

var (
	startingPod = &sandbox.State{Phase: sandbox.Starting, Reason: v1alpha1.ReasonImagePullFailed, Message: "No image."}
	runningPod  = &sandbox.State{Phase: sandbox.Running, Reason: v1alpha1.ReasonSandboxReady, Message: "Runs."}
	// endingPod ended 20 s after the run was created.
	endingPod = &sandbox.State{Phase: sandbox.Ending, Reason: v1alpha1.ReasonSandboxLost, Message: "Has ended.", FinishedAt: after(20 * sec)}
	endedPod  = &sandbox.State{Phase: sandbox.Ended, Reason: v1alpha1.ReasonSandboxOOMKilled, Message: "Too much."}
)

// everything makes each policy speak at once; the tests take one after the other away.
func everything() Observation {
	o := Observation{Run: testRun(), Sandbox: endedPod, SandboxCreatedAt: t0, SandboxGone: true, SandboxStartTimeout: 60 * sec}
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
		{v1alpha1.ReasonSandboxOOMKilled, v1alpha1.PhaseFailed, v1alpha1.CategoryInfraFailure, func() { o.Sandbox = startingPod }},
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
		o := Observation{Run: testRun(), Sandbox: runningPod, SandboxCreatedAt: after(5 * sec), SandboxStartTimeout: 60 * sec}
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
		"the start after the run's own time": {
			base(func(o *Observation) { o.Sandbox, o.SandboxStartTimeout = startingPod, time.Hour }), 100 * sec, v1alpha1.ReasonTimeout,
		},
		"a question": {base(func(o *Observation) { o.Progress.Pending = pending }), 40 * sec, v1alpha1.ReasonUserResponseTimeout},
		"a question that outlives the run's time": {
			base(func(o *Observation) { o.Progress.Pending = pendingQuestion("q", "Which?", "s", 90*sec) }), 120 * sec, v1alpha1.ReasonUserResponseTimeout,
		},
		"an answer that nobody uses": {
			base(func(o *Observation) { o.Run, o.Progress.Pending = testRun("q"), pending }), 130 * sec, v1alpha1.ReasonTimeout,
		},
		"the node's last word": {base(func(o *Observation) { o.Sandbox = endingPod }), 50 * sec, v1alpha1.ReasonSandboxLost},
		"the node's last word to a run that waits": {
			base(func(o *Observation) {
				o.Sandbox, o.Progress.Pending = endingPod, pendingQuestion("q", "Which?", "s", 90*sec)
			}), 50 * sec, v1alpha1.ReasonSandboxLost,
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
	o = Observation{Run: testRun(), Sandbox: startingPod, SandboxCreatedAt: t0, SandboxStartTimeout: time.Minute}
	if got := Decide(o, after(time.Minute)).End.Message; !strings.Contains(got, "1m0s") || !strings.Contains(got, "No image.") {
		t.Errorf("start: %q", got)
	}
	o = Observation{Run: testRun(), Sandbox: endingPod}
	if got := Decide(o, after(50*sec)).End.Message; !strings.Contains(got, "Has ended.") || !strings.Contains(got, "within 30s") {
		t.Errorf("ending: %q", got)
	}
	o = Observation{Run: testRun(), Sandbox: runningPod}
	o.Run.Status.Message = strings.Repeat("漢", 2000)
	end := Decide(o, after(time.Hour)).End
	if !strings.Contains(end.Message, "100 s (spec.limits.timeoutSeconds)") || !strings.Contains(end.Message, "Last: 漢") || len([]rune(end.Message)) > 600 {
		t.Errorf("timeout: %q", end.Message)
	}
	if len(end.Failure.Message) > 1024 {
		t.Errorf("the failure's message has %d bytes", len(end.Failure.Message))
	}
	if diff := cmp.Diff(end, Decide(o, after(2*time.Hour)).End); diff != "" {
		t.Errorf("the message changes with the time:\n%s", diff)
	}
}

// A node that does not know when the tool server ended has nothing more to say.
func TestEndWithoutAnInstantIsOneAtOnce(t *testing.T) {
	t.Parallel()
	o := Observation{Run: testRun(), Sandbox: &sandbox.State{Phase: sandbox.Ending, Reason: v1alpha1.ReasonSandboxLost, Message: "Has ended."}}
	if end := Decide(o, t0).End; end == nil || end.Reason != v1alpha1.ReasonSandboxLost {
		t.Errorf("got %+v", end)
	}
}

// What a status carries is cut as text, however broken it came.
func TestCutEncodedTakesBrokenText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"\xff", "a\xff", strings.Repeat("\xff", 100), strings.Repeat("漢\xe6\xbc", 50), strings.Repeat("a", 9) + "\xff"} {
		for limit := 3; limit < 40; limit++ {
			got := CutEncoded(s, limit)
			if encoded, err := json.Marshal(got); err != nil || !utf8.ValidString(got) || len(encoded)-2 > limit {
				t.Errorf("%q cut to %d bytes is %q (%v)", s, limit, got, err)
			}
		}
	}
}
