// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Two loops decide about the same request: what is recorded first counts for both.
func TestSettleKeepsTheFirstDecision(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	must(t, loadLog(ctx, t, manager, run, claim1).Append(ctx, turn(1, "", "bash:{}")))
	a, b := loadLog(ctx, t, manager, run, claim1), loadLog(ctx, t, manager, run, claim1)
	at := time.Now().Truncate(time.Second)
	request := motorloop.Approval{Execution: "a0-s1-c0", CallID: "a0-s1-c0", ArgsDigest: "sha256:0", AskedAt: at}

	turnA, turnB := a.Turns()[0], b.Turns()[0]
	turnA.Approvals = []motorloop.Approval{request}
	must(t, a.Settle(ctx, turnA))
	if diff := cmp.Diff([]motorloop.Approval{request}, turnA.Approvals); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	denied := request
	denied.Outcome, denied.By, denied.DecidedAt = motorloop.ApprovalDenied, "anna", at.Add(time.Minute)
	turnA.Approvals[0] = denied
	must(t, a.Settle(ctx, turnA))
	// The other one knew nothing of either, and asked later.
	approved := request
	approved.AskedAt, approved.DecidedAt = at.Add(time.Hour), at.Add(2*time.Hour)
	approved.Outcome, approved.By = motorloop.ApprovalApproved, "eve"
	turnB.Approvals = []motorloop.Approval{approved}
	must(t, b.Settle(ctx, turnB))
	for name, got := range map[string][]motorloop.Approval{"the turn": turnB.Approvals, "the journal": loadLog(ctx, t, manager, run, claim1).Turns()[0].Approvals} {
		if diff := cmp.Diff([]motorloop.Approval{denied}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What a person took to approve calls is counted once, whatever became of them, and not as the time of an answer after it.
func TestSettleMeasuresApprovals(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var now time.Time
	run, l, turn1, after := settleTimed(ctx, t, &now, "bash:{}", `request_approval:{"action":"x"}`, "bash:{}", `ask_user:{"question":"Which?"}`)
	decided := func(execution, call string, asked, done int) {
		turn1.Approvals = append(turn1.Approvals, motorloop.Approval{
			Execution: execution, CallID: call, ArgsDigest: "sha256:0", Outcome: motorloop.ApprovalApproved, AskedAt: after(asked), DecidedAt: after(done),
		})
		now = after(done)
		must(t, l.Settle(ctx, turn1))
	}
	waited := func(want time.Duration) {
		t.Helper()
		if p := runpolicy.ReadJournal(run, loadLog(ctx, t, manager, run, claim1).Steps()); p.Waited != want {
			t.Errorf("people took %s, want %s", p.Waited, want)
		}
	}
	// The first call is approved after 20 s and made.
	decided("a0-s1-c0", "a0-s1-c0", 0, 20)
	waited(20 * time.Second)
	now = after(25)
	turn1.Results[0] = okResult("", 5000)
	must(t, l.Settle(ctx, turn1))
	waited(20 * time.Second)
	// The model's own request is approved after 10 s.
	decided("a0-s1-c1", "a0-s1-c1", 25, 35)
	turn1.Results[1] = okResult("approved", 0)
	must(t, l.Settle(ctx, turn1))
	waited(30 * time.Second)
	// The third is approved after 5 s, of unknown outcome after 10 s, to be made again after 20 s, approved again after 30 s, and
	// takes 5 s.
	decided("a0-s1-c2", "a0-s1-c2", 35, 40)
	turn1.Unknown = append(turn1.Unknown, unknown("a0-s1-c2", "a0-s1-c2", after(50), motorloop.UnknownPerson))
	must(t, l.Settle(ctx, turn1))
	waited(35 * time.Second)
	decided("a0-s1-c2-r1", "a0-s1-c2", 70, 100)
	waited(85 * time.Second)
	now = after(105)
	turn1.Results[2] = okResult("", 5000)
	must(t, l.Settle(ctx, turn1))
	waited(85 * time.Second)
	now = after(125)
	turn1.Results[3] = &toolapi.Result{OK: true, Output: "this", Provenance: toolapi.ProvenanceUser}
	must(t, l.Settle(ctx, turn1))
	waited(105 * time.Second)

	step := loadLog(ctx, t, manager, run, claim1).Steps()[0]
	want := map[string]callTimes{"a0-s1-c0": {5000, 20_000}, "a0-s1-c1": {0, 10_000}, "a0-s1-c2": {5000, 55_000}, "a0-s1-c3": {20_000, 0}}
	if diff := cmp.Diff(want, timesOf(&step)); diff != "" || step.Status.ToolMs != 10_000 {
		t.Errorf("tools took %d ms (-want +got):\n%s", step.Status.ToolMs, diff)
	}
}
