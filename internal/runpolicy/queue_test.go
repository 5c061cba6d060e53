// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

type runOption func(*v1alpha1.MotorRun)

// queueRun returns a run of that name, created so many seconds after t0.
func queueRun(name string, age time.Duration, options ...runOption) v1alpha1.MotorRun {
	run := *testRun()
	run.Name, run.UID, run.CreationTimestamp = name, types.UID("uid-"+name), metav1.NewTime(after(age))
	run.Spec.Mode = v1alpha1.ModeAgentic
	for _, o := range options {
		o(&run)
	}
	return run
}

func condition(conditionType string, status metav1.ConditionStatus, reason string) runOption {
	return func(run *v1alpha1.MotorRun) {
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: conditionType, Status: status, Reason: reason})
	}
}

var (
	accepted = condition(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	inQueue  = condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonQueued)
	tired    = condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonNoEnergy)
	noRoom   = condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonStorageFull)
	lacking  = condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonInputFileNotFound)
	over     = condition(v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonCancelled)
)

func oneshotMode(run *v1alpha1.MotorRun)  { run.Spec.Mode = v1alpha1.ModeOneshot }
func suspended(run *v1alpha1.MotorRun)    { run.Spec.Suspend = true }
func cancels(run *v1alpha1.MotorRun)      { run.Spec.Cancel = true }
func beingDeleted(run *v1alpha1.MotorRun) { run.DeletionTimestamp = new(metav1.NewTime(t0)) }

func priority(p int32) runOption {
	return func(run *v1alpha1.MotorRun) { run.Spec.Priority = p }
}

func bound(maxActive int32, whenBusy v1alpha1.WhenBusy) *v1alpha1.Concurrency {
	return &v1alpha1.Concurrency{MaxActive: maxActive, WhenBusy: whenBusy}
}

func TestTakeTurn(t *testing.T) {
	t.Parallel()
	type list = []v1alpha1.MotorRun
	// me is 10 s old when it asks.
	me := queueRun("me", 100*sec)
	now := after(110 * sec)
	wait := func(full bool, holders ...string) Turn { return Turn{Verdict: Wait, Holders: holders, Full: full} }
	tests := map[string]struct {
		c    *v1alpha1.Concurrency
		me   *v1alpha1.MotorRun
		runs list
		want Turn
	}{
		"no bound":                 {runs: list{queueRun("a", 0, accepted)}},
		"nobody else":              {c: bound(1, v1alpha1.BusyQueue), runs: list{me}},
		"one holds the only place": {c: bound(1, v1alpha1.BusyQueue), runs: list{me, queueRun("a", 0, accepted)}, want: wait(true, "a")},
		"unset is one place, and a queue": {
			c: &v1alpha1.Concurrency{}, runs: list{queueRun("a", 0, accepted)}, want: wait(true, "a"),
		},
		"a place is left": {c: bound(2, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, accepted)}},
		"more holders than places": {
			c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("b", 1, accepted), queueRun("c", 0, accepted)}, want: wait(true, "c", "b"),
		},
		"the newer one holds it": {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 105*sec, accepted)}, want: wait(true, "a")},
		"rejected":               {c: bound(1, v1alpha1.BusyReject), runs: list{queueRun("a", 0, accepted)}, want: Turn{Verdict: Reject, Holders: []string{"a"}, Full: true}},
		"rejection knows no turn": {
			c: bound(1, v1alpha1.BusyReject), runs: list{queueRun("a", 0, inQueue), queueRun("b", 0)},
		},
		"an older one waits":            {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, inQueue)}, want: wait(false, "a")},
		"an older one waits for energy": {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, tired)}, want: wait(false, "a")},
		"an older one waits for room":   {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, noRoom)}, want: wait(false, "a")},
		"an older one of two places":    {c: bound(2, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, inQueue)}},
		"both places have a turn": {
			c: bound(2, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, inQueue), queueRun("b", 0, inQueue)}, want: wait(false, "a", "b"),
		},
		"a newer one waits":            {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 101*sec, inQueue)}},
		"a newer one of more priority": {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 101*sec, inQueue, priority(1))}, want: wait(false, "a")},
		"an older one of less":         {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, inQueue, priority(-1))}},
		"of the same second":           {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 100*sec, inQueue), queueRun("z", 100*sec, inQueue)}, want: wait(false, "a")},
		"priority takes no place away": {
			c: bound(1, v1alpha1.BusyQueue), me: new(queueRun("me", 100*sec, priority(1000))), runs: list{queueRun("a", 0, accepted)}, want: wait(true, "a"),
		},
		"one that was not looked at yet": {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 100*sec+1)}},
		"an older one that was not looked at yet": {
			c: bound(1, v1alpha1.BusyQueue), me: new(queueRun("me", 104*sec)), runs: list{queueRun("a", 103*sec)}, want: wait(false, "a"),
		},
		"nobody will look at it": {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 100*sec-1)}},
		"those who cannot begin": {c: bound(1, v1alpha1.BusyQueue), runs: list{
			queueRun("a", 0, lacking), queueRun("b", 0, inQueue, suspended), queueRun("c", 0, inQueue, cancels), queueRun("d", 0, inQueue, beingDeleted),
			queueRun("e", 0, inQueue, over), queueRun("f", 99*sec, oneshotMode), queueRun("g", 99*sec, suspended),
		}},
		"those who hold nothing": {c: bound(1, v1alpha1.BusyQueue), runs: list{
			queueRun("a", 0, accepted, over), queueRun("b", 0, accepted, beingDeleted), queueRun("c", 0, accepted, oneshotMode),
		}},
		"suspended it keeps its place": {c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, accepted, suspended)}, want: wait(true, "a")},
		"cancelled it keeps its place until it has ended": {
			c: bound(1, v1alpha1.BusyQueue), runs: list{queueRun("a", 0, accepted, cancels)}, want: wait(true, "a"),
		},
		"Oneshot": {c: bound(1, v1alpha1.BusyReject), me: new(queueRun("me", 100*sec, oneshotMode)), runs: list{queueRun("a", 0, accepted)}},
		// The answer to the write that accepted it was lost.
		"it has the place itself": {c: bound(1, v1alpha1.BusyReject), runs: list{queueRun("me", 100*sec, accepted)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asking := tt.me
			if asking == nil {
				asking = &me
			}
			if diff := cmp.Diff(tt.want, TakeTurn(asking, tt.c, tt.runs, time.Time{}, now)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Runs that were created while no manager was there are looked at in any order, and take their turns in theirs.
func TestRunsThatCameWhileNobodyLooked(t *testing.T) {
	t.Parallel()
	c, since := bound(1, v1alpha1.BusyQueue), after(time.Hour)
	low, high := queueRun("low", 0), queueRun("high", 1, priority(9))
	runs := []v1alpha1.MotorRun{low, high}
	if turn := TakeTurn(&low, c, runs, since, since.Add(sec)); turn.Verdict != Wait {
		t.Errorf("who comes later may go first: %+v", turn)
	}
	if turn := TakeTurn(&high, c, runs, since, since.Add(sec)); turn.Verdict != Admit {
		t.Errorf("who comes first may not go: %+v", turn)
	}
	if turn := TakeTurn(&low, c, runs, since, since.Add(unseenFor)); turn.Verdict != Admit {
		t.Errorf("a run that cannot be looked at keeps all others waiting: %+v", turn)
	}
	if next := NextTurns(c, slices.Clone(runs), since, since.Add(sec)); len(next) != 1 || next[0].Name != "high" {
		t.Errorf("the next is %v", next)
	}
}

func TestNextTurns(t *testing.T) {
	t.Parallel()
	runs := []v1alpha1.MotorRun{
		queueRun("active", 0, accepted), queueRun("third", 2*sec, inQueue), queueRun("first", 5*sec, inQueue, priority(3)), queueRun("second", sec, inQueue),
		queueRun("lacking", 0, lacking, priority(9)), queueRun("suspended", 0, inQueue, suspended, priority(9)), queueRun("ended", 0, inQueue, over, priority(9)),
	}
	for name, tt := range map[string]struct {
		c    *v1alpha1.Concurrency
		want []string
	}{
		"no bound":        {},
		"none is free":    {bound(1, v1alpha1.BusyQueue), []string{"first"}},
		"one is free":     {bound(2, v1alpha1.BusyQueue), []string{"first"}},
		"two are free":    {bound(3, v1alpha1.BusyQueue), []string{"first", "second"}},
		"enough are free": {bound(30, v1alpha1.BusyQueue), []string{"first", "second", "third"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range NextTurns(tt.c, slices.Clone(runs), time.Time{}, after(time.Minute)) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Whatever run asks, in whatever order: there are never more active runs than slots, and every run has a turn.
func TestEverybodyHasATurn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := bound(1+random.Int32N(3), v1alpha1.BusyQueue)
		var runs []v1alpha1.MotorRun
		for i := range 12 {
			runs = append(runs, queueRun(fmt.Sprintf("r%02d", i), time.Duration(random.IntN(3))*sec, priority(random.Int32N(3))))
		}
		var order []*v1alpha1.MotorRun
		for range 2000 {
			run := &runs[random.IntN(len(runs))]
			switch {
			case HoldsPlace(run) && random.IntN(3) == 0:
				over(run)
			case WaitsForPlace(run) && TakeTurn(run, c, runs, time.Time{}, after(5*sec)).Verdict == Admit:
				run.Status.Conditions = nil
				accepted(run)
				order = append(order, run)
			case WaitsForPlace(run):
				run.Status.Conditions = nil
				inQueue(run)
			}
			active := 0
			for i := range runs {
				if HoldsPlace(&runs[i]) {
					active++
				}
			}
			if active > places(c) {
				t.Fatalf("seed %d: %d runs in %d places", seed, active, places(c))
			}
		}
		if len(order) != len(runs) {
			t.Fatalf("seed %d: %d of %d runs had their turn", seed, len(order), len(runs))
		}
		// With more slots, the first runs that ask get those that are free at the same time.
		if places(c) == 1 && !slices.IsSortedFunc(order, byTurn) {
			t.Errorf("seed %d: the only place was not given by turn", seed)
		}
	}
}

func TestTiredBefore(t *testing.T) {
	t.Parallel()
	runs := []v1alpha1.MotorRun{
		queueRun("older", 0, tired), queueRun("oldest", -5, tired), queueRun("younger", 9, tired), queueRun("queued", 0, inQueue), queueRun("roomless", 0, noRoom),
		queueRun("suspended", 0, tired, func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }),
		queueRun("urgent", 9, tired, func(r *v1alpha1.MotorRun) { r.Spec.Priority = 1 }),
		queueRun("run", 1, tired), queueRun("code", 0, tired, func(r *v1alpha1.MotorRun) { r.Spec.Mode = v1alpha1.ModeOneshot }),
	}
	run := queueRun("run", 1)
	var got []string
	for _, r := range TiredBefore(&run, runs) {
		got = append(got, r.Name)
	}
	if want := []string{"older", "oldest", "urgent"}; !slices.Equal(got, want) {
		t.Errorf("before it are %v, want %v", got, want)
	}
}
