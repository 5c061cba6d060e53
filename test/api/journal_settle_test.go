// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestSettleKeepsWhatAnotherWrote(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	must(t, loadLog(ctx, t, manager, run, claim1).Append(ctx, turnAt(1, "", "bash:{}", "read:{}")))
	a, b := loadLog(ctx, t, manager, run, claim1), loadLog(ctx, t, manager, run, journal.Claim{Epoch: 2, Worker: "worker-2"})

	turnA := a.Turns()[0]
	turnA.Results[0] = okResult("the first result", 7)
	must(t, a.Settle(ctx, turnA))
	turnB := b.Turns()[0]
	turnB.Results[0], turnB.Results[1] = okResult("a later result of the same call", 8), okResult("another call's", 9)
	must(t, b.Settle(ctx, turnB))

	want := []*toolapi.Result{okResult("the first result", 7), okResult("another call's", 9)}
	if diff := cmp.Diff(want, turnB.Results); diff != "" {
		t.Errorf("the loop goes on with other results than the journal's (-want +got):\n%s", diff)
	}
	got := loadLog(ctx, t, manager, run, claim1)
	if diff := cmp.Diff(want, got.Turns()[0].Results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	status := got.Steps()[0].Status
	if status.OK != "2/2" || status.ToolMilliseconds != 16 || status.Phase != v1alpha1.StepSettled {
		t.Errorf("status %+v", status)
	}
	// The one that lost settles again, with nothing new.
	must(t, a.Settle(ctx, turnA))
	if again := loadLog(ctx, t, manager, run, claim1).Steps()[0]; again.ResourceVersion != got.Steps()[0].ResourceVersion {
		t.Error("settling again without anything new wrote the step")
	}
}

func TestSettlePhases(t *testing.T) {
	t.Parallel()
	unknown := &toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Provenance: toolapi.ProvenanceInternal}
	failed := &toolapi.Result{ErrorCode: "exit_1", Provenance: toolapi.ProvenanceInternal, DurationMs: 3}
	tests := map[string]struct {
		results []*toolapi.Result
		phase   v1alpha1.StepPhase
		ok      string
	}{
		"none yet":              {[]*toolapi.Result{nil, nil}, v1alpha1.StepInFlight, "0/2"},
		"the second only":       {[]*toolapi.Result{nil, okResult("", 1)}, v1alpha1.StepInFlight, "1/2"},
		"a failed one":          {[]*toolapi.Result{failed, okResult("", 1)}, v1alpha1.StepSettled, "1/2"},
		"an unknown one":        {[]*toolapi.Result{unknown, okResult("", 1)}, v1alpha1.StepSettled, "1/2"},
		"unknown and in flight": {[]*toolapi.Result{unknown, nil}, v1alpha1.StepInFlight, "0/2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			run := createRun(ctx, t, newNamespace(ctx, t))
			l := loadLog(ctx, t, manager, run, claim1)
			turn1 := turnAt(1, "", "bash:{}", "bash:{}")
			must(t, l.Append(ctx, turn1))
			turn1.Results = tt.results
			must(t, l.Settle(ctx, turn1))
			got := loadLog(ctx, t, manager, run, claim1).Steps()[0].Status
			if got.Phase != tt.phase || got.OK != tt.ok {
				t.Errorf("%s %s, want %s %s", got.Phase, got.OK, tt.phase, tt.ok)
			}
		})
	}
}
