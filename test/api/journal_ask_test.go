// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Two loops decide about the same request: what is recorded first counts for both.
func TestSettleKeepsTheFirstDecision(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	must(t, loadLog(ctx, t, manager, run, claim1).Append(ctx, turnAt(1, "", "bash:{}")))
	a, b := loadLog(ctx, t, manager, run, claim1), loadLog(ctx, t, manager, run, claim1)
	at := time.Now().Truncate(time.Second)
	request := turn.Ask{
		ID: "a", Kind: turn.AskApproval, Execution: "a1-s1-c0", CallID: "a1-s1-c0", Digest: "sha256:0", AskedAt: at, ExpiresAt: at.Add(time.Hour), OnTimeout: turn.OnTimeoutDeny,
	}

	turnA, turnB := a.Turns()[0], b.Turns()[0]
	turnA.Asks = []turn.Ask{request}
	must(t, a.Settle(ctx, turnA))
	if diff := cmp.Diff([]turn.Ask{request}, turnA.Asks); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	denied := request
	denied.Outcome, denied.By, denied.ClosedAt = turn.AskDenied, "anna", at.Add(time.Minute)
	turnA.Asks[0] = denied
	must(t, a.Settle(ctx, turnA))
	// The other one knew nothing of either, and asked later.
	approved := request
	approved.AskedAt, approved.ClosedAt = at.Add(time.Hour), at.Add(2*time.Hour)
	approved.Outcome, approved.By = turn.AskApproved, "eve"
	turnB.Asks = []turn.Ask{approved}
	must(t, b.Settle(ctx, turnB))
	for name, got := range map[string][]turn.Ask{"the turn": turnB.Asks, "the journal": loadLog(ctx, t, manager, run, claim1).Turns()[0].Asks} {
		if diff := cmp.Diff([]turn.Ask{denied}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
