// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// attemptTurn is a turn of a later attempt.
func attemptTurn(attempt, index int32, calls ...string) *turn.Turn {
	t := turnAt(index, "", calls...)
	for i := range t.Calls {
		t.Calls[i].ID = turn.CallID(attempt, index, i)
	}
	return t
}

func TestJournalOfAttempts(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	load := func(attempt int32, claim journal.Claim) (*journal.Log, error) {
		return journal.Load(ctx, manager, manager, run, attempt, claim, time.Now)
	}
	first, err := load(1, claim1)
	must(t, err)
	first.UseSandbox(v1alpha1.StepSandbox{PodUID: "pod-1", ServerKey: "sha256:key", IsolationTries: 3})
	must(t, first.Append(ctx, turnAt(1, "", "bash:{}")))
	must(t, first.End(ctx, &outcome.Failure{Category: outcome.ToolFailure, Reason: "Why"}, outcome.Outcome{}))

	second, err := load(2, claim1)
	must(t, err)
	if second.Ended() || len(second.Turns()) != 0 || len(second.Steps()) != 0 || second.Attempt() != 2 {
		t.Errorf("the second attempt begins with %d turns, ended %t", len(second.Turns()), second.Ended())
	}
	if !equality.Semantic.DeepEqual(second.Sandbox(), first.Sandbox()) {
		t.Errorf("the second attempt begins in the sandbox %+v", second.Sandbox())
	}
	second.UseSandbox(v1alpha1.StepSandbox{PodUID: "pod-2"})
	must(t, second.Append(ctx, attemptTurn(2, 1, "bash:{}")))
	if name := second.Steps()[0].Name; name != "run-a02-s0001" {
		t.Errorf("its first step is %s", name)
	}
	second, err = load(2, claim1)
	must(t, err)
	if all := second.AllSteps(); len(all) != 3 || all[0].Name != "run-a01-s0001" || all[2].Name != "run-a02-s0001" || len(second.Turns()) != 1 {
		t.Errorf("%d steps, %d of them turns of the second attempt", len(all), len(second.Turns()))
	}
	if second.Sandbox().PodUID != "pod-2" {
		t.Errorf("the last step's sandbox is %+v", second.Sandbox())
	}

	// The first attempt is over for good, and so is every claim before the last.
	if _, err := load(1, claim1); !errors.Is(err, motorloop.ErrStale) {
		t.Errorf("the first attempt again: %v", err)
	}
	later, err := load(2, journal.Claim{Epoch: 2, Worker: "worker-2"})
	must(t, err)
	must(t, later.Append(ctx, attemptTurn(2, 2, "bash:{}")))
	if _, err := load(2, claim1); !errors.Is(err, motorloop.ErrStale) {
		t.Errorf("an earlier claim: %v", err)
	}
	if _, err := load(3, claim1); !errors.Is(err, motorloop.ErrStale) {
		t.Errorf("an earlier claim on a later attempt: %v", err)
	}
}

// The holder of an earlier claim was frozen before it wrote, and thaws when the next one has read the journal.
func TestJournalOfAFrozenHolder(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	frozen := loadLog(ctx, t, manager, run, claim1)
	next := loadLog(ctx, t, manager, run, journal.Claim{Epoch: 2, Worker: "worker-2"})
	must(t, frozen.Append(ctx, turnAt(1, "what the first one decided", "bash:{}")))
	if err := next.Append(ctx, turnAt(1, "what the second one decided", "read:{}")); !errors.Is(err, journal.ErrMovedOn) {
		t.Fatalf("got %v, want ErrMovedOn", err)
	}
	next = loadLog(ctx, t, manager, run, journal.Claim{Epoch: 2, Worker: "worker-2"})
	got := next.Turns()
	if len(got) != 1 || got[0].Content != "what the first one decided" || got[0].Settled() {
		t.Fatalf("the second one goes on from %+v", got)
	}
	// It settles the step, and what the first one says of it later does not count any more.
	got[0].Results[0] = okResult("the second one's result", 1)
	must(t, next.Settle(ctx, got[0]))
	late := frozen.Turns()[0]
	late.Results[0] = okResult("the first one's result", 2)
	must(t, frozen.Settle(ctx, late))
	if late.Results[0].Output != "the second one's result" {
		t.Errorf("the frozen one goes on with %+v", late.Results[0])
	}
	must(t, next.Append(ctx, turnAt(2, "", "bash:{}")))
	if err := frozen.Append(ctx, turnAt(2, "", "bash:{}")); !errors.Is(err, motorloop.ErrStale) {
		t.Errorf("the frozen one's next step: %v", err)
	}
}

func TestJournalKeepsSummaries(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	l := loadLog(ctx, t, manager, run, claim1)
	turns := []*turn.Turn{turnAt(1, "", "bash:{}"), turnAt(2, "", "read:{}"), turnAt(3, "in short"), turnAt(4, "", "bash:{}")}
	turns[2].Closes = false
	turns[2].Through = 1
	for _, tt := range turns {
		must(t, l.Append(ctx, tt))
		for i := range tt.Results {
			tt.Results[i] = okResult("out", 1)
		}
		must(t, l.Settle(ctx, tt))
	}
	got := loadLog(ctx, t, manager, run, claim1)
	if diff := cmp.Diff(turns, got.Turns()); diff != "" {
		t.Errorf("the turns after a round trip (-want +got):\n%s", diff)
	}
	s := got.Steps()[2].Spec
	if s.Type != v1alpha1.StepSummary || s.Through != 1 || s.Tools != "(summary)" || s.Final {
		t.Errorf("the summary's step is %+v", s)
	}
	if got.Ended() {
		t.Error("a summary ends the attempt")
	}
}

// A namespace that is being deleted takes nothing more, which is no error of anybody.
func TestJournalInATerminatingNamespace(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	l := loadLog(ctx, t, manager, run, claim1)
	must(t, admin.Delete(ctx, namespace(run.Namespace)))
	for {
		// The API server takes a moment to know that the namespace goes.
		err := manager.Create(ctx, bareStep(run.Namespace, "probe"), client.DryRunAll)
		if err != nil {
			break
		}
		must(t, ctx.Err())
	}
	if err := l.Append(ctx, turnAt(1, "", "bash:{}")); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("got %v", err)
	}
}
