// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func unknown(execution, call string, at time.Time, policy turn.UnknownPolicy) turn.Unknown {
	return turn.Unknown{Execution: execution, CallID: call, FoundAt: at, Policy: policy}
}

func TestSettleKeepsUnknownExecutions(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	must(t, loadLog(ctx, t, manager, run, claim1).Append(ctx, turnAt(1, "", "bash:{}", "read:{}")))
	a, b := loadLog(ctx, t, manager, run, claim1), loadLog(ctx, t, manager, run, claim1)
	begin := time.Now().Truncate(time.Second)

	phase := func(want v1alpha1.StepPhase) {
		t.Helper()
		if got := loadLog(ctx, t, manager, run, claim1).Steps()[0].Status.Phase; got != want {
			t.Errorf("the phase is %s, want %s", got, want)
		}
	}
	turnA, turnB := a.Turns()[0], b.Turns()[0]
	turnA.Unknown = []turn.Unknown{unknown("a1-s1-c0", "a1-s1-c0", begin, turn.UnknownPerson)}
	must(t, a.Settle(ctx, turnA))
	phase(v1alpha1.StepOutcomeUnknown)
	// Another loop found the same, later, and one thing more.
	turnB.Unknown = []turn.Unknown{
		unknown("a1-s1-c0", "a1-s1-c0", begin.Add(time.Minute), turn.UnknownModel),
		unknown("a1-s1-c1", "a1-s1-c1", begin.Add(time.Minute), turn.UnknownRedo),
	}
	must(t, b.Settle(ctx, turnB))
	want := []turn.Unknown{
		unknown("a1-s1-c0", "a1-s1-c0", begin, turn.UnknownPerson),
		unknown("a1-s1-c1", "a1-s1-c1", begin.Add(time.Minute), turn.UnknownRedo),
	}
	for name, got := range map[string][]turn.Unknown{"the turn": turnB.Unknown, "the journal": loadLog(ctx, t, manager, run, claim1).Turns()[0].Unknown} {
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
