// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

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

// BenchmarkStepWrites measures the two writes of a step beside the creation of an object of 4 KiB, one after the other. The results of a step are written
// beside the question to the model.
func BenchmarkStepWrites(b *testing.B) {
	for _, name := range []string{"ConfigMap", "append", "settle"} {
		b.Run(name, func(b *testing.B) { benchStep(b, name) })
	}
}

func benchStep(b *testing.B, name string) {
	ctx := context.Background()
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ns := namespace(fmt.Sprintf("b%d", namespaces.Add(1)))
	check(admin.Create(ctx, ns))
	// Each run has as many steps as one can have, and no more.
	const steps = 50
	var l *journal.Log
	timed := func(is bool, do func() error) {
		b.Helper()
		if is {
			b.StartTimer()
			defer b.StopTimer()
		}
		check(do())
	}
	b.StopTimer()
	for i := range b.N {
		if i%steps == 0 {
			run := newRun(ns.Name, func(run *v1alpha1.MotorRun) { run.Name = fmt.Sprintf("run-%d", i) })
			check(admin.Create(ctx, run))
			var err error
			l, err = journal.Load(ctx, manager, manager, run, 1, claim1, time.Now)
			check(err)
		}
		step := turnAt(int32(i%steps+1), strings.Repeat("word ", 400), `bash:{"command":"true"}`)
		step.Closes = false
		timed(name == "append", func() error { return l.Append(ctx, step) })
		step.Results[0] = okResult(strings.Repeat("line\n", 400), 3)
		timed(name == "settle", func() error { return l.Settle(ctx, step) })
		o := &corev1.ConfigMap{Data: map[string]string{"text": strings.Repeat("x", 4<<10)}}
		o.Namespace, o.Name = ns.Name, fmt.Sprintf("c%d", i)
		timed(name == "ConfigMap", func() error { return admin.Create(ctx, o) })
	}
}
