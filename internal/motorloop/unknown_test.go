// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// lostUntil returns results like a tool server that goes down in the first n executions of every call whose arguments name
// a file called "lost".
func lostUntil(n int) func(toolapi.Call) toolapi.Result {
	times := 0
	return func(c toolapi.Call) toolapi.Result {
		if strings.Contains(string(c.Arguments), "lost") {
			if times++; times <= n {
				return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Output: "unknown", Provenance: toolapi.ProvenanceInternal}
			}
		}
		return toolapi.Result{OK: true, Output: "did it", Provenance: toolapi.ProvenanceInternal}
	}
}

// The result of a call that is lost some times, with every possible answer of a person.
func TestUnknownOutcomes(t *testing.T) {
	const first, second, third, fourth = "a1-s1-c1", "a1-s1-c1-r1", "a1-s1-c1-r2", "a1-s1-c1-r3"
	cases := map[string]struct {
		call     turn.Call
		policy   turn.UnknownPolicy
		lost     int
		answers  map[string]string
		waiting  string // the execution that is waited for; "" if the run completes
		executed string // of the call, in order
		code     string // of its result, "ok" if it succeeded
		says     string // its output contains it
	}{
		"a call that only reads is made again": {
			call: read("lost"), lost: 1, executed: first + " " + second, code: "ok", says: "did it",
		},
		"whatever the policy": {
			call: read("lost"), policy: turn.UnknownModel, lost: 3, executed: first + " " + second + " " + third + " " + fourth, code: "ok",
		},
		"four times at most": {
			call: read("lost"), lost: 9, executed: first + " " + second + " " + third + " " + fourth,
			code: toolapi.CodeOutcomeUnknown, says: "each of the 4 times",
		},
		"the model is told": {
			call: bash("lost"), policy: turn.UnknownModel, lost: 9, executed: first, code: toolapi.CodeOutcomeUnknown, says: "Look at what it changed",
		},
		"a person is asked": {
			call: bash("lost"), policy: turn.UnknownPerson, lost: 9, executed: first, waiting: first,
		},
		"also if nobody said who": {
			call: bash("lost"), lost: 9, executed: first, waiting: first,
			answers: map[string]string{second: "Retry", "a1-s1-c0": "Retry", "a2-s1-c1": "Retry"},
		},
		"retry": {
			call: bash("lost"), lost: 1, executed: first + " " + second, code: "ok", says: "did it",
			answers: map[string]string{first: "Retry"},
		},
		"retry is about one execution": {
			call: bash("lost"), lost: 2, executed: first + " " + second, waiting: second,
			answers: map[string]string{first: "Retry"},
		},
		"retry, then done": {
			call: bash("lost"), lost: 2, executed: first + " " + second, code: "ok", says: "The person looked",
			answers: map[string]string{first: "Retry", second: "Done"},
		},
		"done, with a reason": {
			call: bash("lost"), lost: 1, executed: first, code: "ok", says: "The person looked: it did what it was meant to do.\nThe person says: paid, but only half",
			answers: map[string]string{first: "Done\npaid, but only half"},
		},
		"retry for ever": {
			call: bash("lost"), lost: 9, executed: first + " " + second + " " + third + " " + fourth,
			code: toolapi.CodeOutcomeUnknown, says: "each of the 4 times",
			answers: map[string]string{first: "Retry", second: "Retry", third: "Retry", fourth: "Retry"},
		},
		"skip": {
			call: bash("lost"), lost: 1, executed: first, code: toolapi.CodeSkipped, says: "go on without it", answers: map[string]string{first: "Skip"},
		},
		"skip, with a reason": {
			call: bash("lost"), lost: 1, executed: first, code: toolapi.CodeSkipped, says: "do it by hand: \uFFFD",
			answers: map[string]string{first: "Skip\ndo it by hand: \xff"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			w := newWorld(t, config.Config{OnUnknown: tc.policy}, lostUntil(tc.lost),
				says("", bash("before"), tc.call, bash("after"), question("all well?")), says("done"))
			w.loop.Now = func() time.Time { return found }
			answers := maps.Clone(tc.answers)
			if answers == nil {
				answers = map[string]string{}
			}
			answers["a1-s1-c3"] = "yes"
			out := mustRun(t, w, answers)
			step := w.journal.load()[0]

			want := "a1-s1-c0 " + tc.executed
			if tc.waiting == "" {
				want += " a1-s1-c2"
			}
			if got := strings.Join(w.sandbox.executedIDs(), " "); got != want {
				t.Errorf("executed %s\nwant     %s", got, want)
			}
			for i, u := range step.Unknown {
				if u.Execution != turn.ExecutionID(first, i) || u.CallID != first || !u.FoundAt.Equal(found) {
					t.Errorf("unknown %d: %+v", i, u)
				}
			}
			if tc.waiting != "" {
				if out.Kind != outcome.Awaiting || out.Waiting.Execution != tc.waiting || out.Waiting.Kind != turn.AskUnknown {
					t.Fatalf("got %+v", out)
				}
				if step.Results[0] == nil || step.Results[1] != nil || step.Results[2] != nil || step.Results[3] != nil {
					t.Errorf("while a person is asked: %+v", step.Results)
				}
				return
			}
			res := step.Results[1]
			if out.Kind != outcome.Completed || (tc.code == "ok") != res.OK || !res.OK && res.ErrorCode != tc.code || !strings.Contains(res.Output, tc.says) {
				t.Errorf("got %+v, %+v", out, res)
			}
			if (res.Provenance == toolapi.ProvenanceUser) != (res.ErrorCode == toolapi.CodeSkipped || strings.HasPrefix(res.Output, doneText)) {
				t.Errorf("provenance %s of %+v", res.Provenance, res)
			}
		})
	}
}

// An unknown execution is recorded before any consequence, and the consequences are the same for a loop that
// knows only the record.
func TestUnknownIsWrittenFirst(t *testing.T) {
	w := newWorld(t, config.Config{}, lostUntil(1), says("", bash("lost")), says("done"))
	broken := errors.New("broken")
	w.journal.fault = failAt("settle: after", broken)
	if _, err := w.run(t.Context(), map[string]string{"a1-s1-c0": "Retry"}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	want := []turn.Unknown{{Execution: "a1-s1-c0", CallID: "a1-s1-c0", Policy: turn.UnknownPerson}}
	got := w.journal.load()[0].Unknown
	got[0].FoundAt = time.Time{}
	if d := cmp.Diff(want, got); d != "" || len(w.sandbox.executed) != 1 {
		t.Errorf("%s, executed %v", d, w.sandbox.executedIDs())
	}
	// The same write has the ask, so that a person can be asked by what is recorded alone.
	if a := w.journal.load()[0].Asks; len(a) != 1 || a[0].Kind != turn.AskUnknown || a[0].Execution != "a1-s1-c0" || a[0].Outcome != "" {
		t.Errorf("asked %+v", a)
	}
	w.journal.fault = noFault
	if out := mustRun(t, w, nil); out.Kind != outcome.Awaiting || out.Waiting.ID != "a1-s1-c0" {
		t.Errorf("got %+v", out)
	}
	if out := mustRun(t, w, map[string]string{"a1-s1-c0": "Retry"}); out.Kind != outcome.Completed {
		t.Errorf("got %+v", out)
	}
	if got := strings.Join(w.sandbox.executedIDs(), " "); got != "a1-s1-c0 a1-s1-c0-r1" {
		t.Errorf("executed %s", got)
	}
}

// The decision about an unknown outcome is recorded before anything follows from it, and is final.
func TestADecisionAboutAnUnknownOutcomeCountsForEver(t *testing.T) {
	t.Parallel()
	const id = "a1-s1-c0"
	for first, later := range map[string]string{"Retry": "Skip", "Skip": "Retry"} {
		w := newWorld(t, config.Config{}, lostUntil(1), says("", bash("lost")), says("done"))
		w.mustWait(t, nil, id)
		broken := errors.New("broken")
		w.journal.fault = failAt("settle: after", broken)
		if _, err := w.run(t.Context(), map[string]string{id: first}); !errors.Is(err, broken) || len(w.sandbox.executed) != 1 {
			t.Fatalf("%s: %v, executed %v", first, err, w.sandbox.executedIDs())
		}
		w.journal.fault = noFault
		settles := w.journal.settles
		w.mustWait(t, map[string]string{id: later}, "")
		if made := len(w.sandbox.executed) == 2; made != (first == "Retry") {
			t.Errorf("%s was decided first; executed %v", first, w.sandbox.executedIDs())
		}
		// Only the result of the call is written: the decision is not recorded again.
		if n := w.journal.settles - settles; n != 1 {
			t.Errorf("%s: %d writes after the decision", first, n)
		}
	}
}
