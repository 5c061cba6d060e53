// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func unknown(execution, call string, at time.Time, policy motorloop.UnknownPolicy) motorloop.Unknown {
	return motorloop.Unknown{Execution: execution, CallID: call, FoundAt: at, Policy: policy}
}

func TestSettleKeepsUnknownExecutions(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	must(t, loadLog(ctx, t, manager, run, claim1).Append(ctx, turn(1, "", "bash:{}", "read:{}")))
	a, b := loadLog(ctx, t, manager, run, claim1), loadLog(ctx, t, manager, run, claim1)
	begin := time.Now().Truncate(time.Second)

	phase := func(want v1alpha1.StepPhase) {
		t.Helper()
		if got := loadLog(ctx, t, manager, run, claim1).Steps()[0].Status.Phase; got != want {
			t.Errorf("the phase is %s, want %s", got, want)
		}
	}
	turnA, turnB := a.Turns()[0], b.Turns()[0]
	turnA.Unknown = []motorloop.Unknown{unknown("a0-s1-c0", "a0-s1-c0", begin, motorloop.UnknownPerson)}
	must(t, a.Settle(ctx, turnA))
	phase(v1alpha1.StepOutcomeUnknown)
	// Another loop found the same, later, and one thing more.
	turnB.Unknown = []motorloop.Unknown{
		unknown("a0-s1-c0", "a0-s1-c0", begin.Add(time.Minute), motorloop.UnknownModel),
		unknown("a0-s1-c1", "a0-s1-c1", begin.Add(time.Minute), motorloop.UnknownRedo),
	}
	must(t, b.Settle(ctx, turnB))
	want := []motorloop.Unknown{
		unknown("a0-s1-c0", "a0-s1-c0", begin, motorloop.UnknownPerson),
		unknown("a0-s1-c1", "a0-s1-c1", begin.Add(time.Minute), motorloop.UnknownRedo),
	}
	for name, got := range map[string][]motorloop.Unknown{"the turn": turnB.Unknown, "the journal": loadLog(ctx, t, manager, run, claim1).Turns()[0].Unknown} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	turnB.Results[0] = okResult("", 1)
	must(t, b.Settle(ctx, turnB))
	phase(v1alpha1.StepOutcomeUnknown)
	turnB.Results[1] = okResult("", 1)
	must(t, b.Settle(ctx, turnB))
	phase(v1alpha1.StepSettled)
}

// What a person took to decide about a call is counted once: not what the call took when it was made again, and not
// in the answer to a question of the same turn.
func TestSettleMeasuresDecisions(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var now time.Time
	run, l, turn1, after := settleTimed(ctx, t, &now, "bash:{}", "bash:{}", `ask_user:{"question":"Which?"}`)

	// The first call is of unknown outcome after 10 s, is made again after 40 s, and takes 5 s.
	turn1.Unknown = append(turn1.Unknown, unknown("a0-s1-c0", "a0-s1-c0", after(10), motorloop.UnknownPerson))
	must(t, l.Settle(ctx, turn1))
	now = after(45)
	turn1.Results[0] = okResult("", 5000)
	must(t, l.Settle(ctx, turn1))
	// The second one only reads, so nobody is asked.
	turn1.Unknown = append(turn1.Unknown, unknown("a0-s1-c1", "a0-s1-c1", after(46), motorloop.UnknownRedo))
	now = after(50)
	turn1.Results[1] = okResult("", 4000)
	must(t, l.Settle(ctx, turn1))
	now = after(80)
	turn1.Results[2] = &toolapi.Result{OK: true, Output: "this", Provenance: toolapi.ProvenanceUser}
	must(t, l.Settle(ctx, turn1))

	step := loadLog(ctx, t, manager, run, claim1).Steps()[0]
	// What the first execution took until it was broken off is in no call.
	want := map[string]callTimes{"a0-s1-c0": {5000, 30_000}, "a0-s1-c1": {4000, 0}, "a0-s1-c2": {30_000, 0}}
	if diff := cmp.Diff(want, timesOf(&step)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if p := runpolicy.ReadJournal(run, loadLog(ctx, t, manager, run, claim1).Steps()); p.Waited != 60*time.Second {
		t.Errorf("people took %s", p.Waited)
	}
}
