// SPDX-License-Identifier: Apache-2.0

package spending

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
)

func sums(t *testing.T, c client.Client) *v1alpha1.BudgetStatus {
	t.Helper()
	cx := &v1alpha1.MotorCortex{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, cx); err != nil {
		t.Fatal(err)
	}
	return cx.Status.Budget
}

// createRun has the cluster know the run of an account.
func createRun(t *testing.T, c client.Client, a *Account) *v1alpha1.MotorRun {
	t.Helper()
	run := a.Env.Run.DeepCopy()
	if err := c.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	return run
}

// Loops on several replicas take shares at the same time, from the same sums.
func TestLoopsAtTheSameTimeNeverSpendMoreThanThereIs(t *testing.T) {
	t.Parallel()
	c := cluster(t, &v1alpha1.Budget{PerDay: tokens(2050)})
	var paid atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		a := account(t, c, fmt.Sprint("run-", i))
		createRun(t, c, a)
		wg.Go(func() {
			m := Model{Model: &answering{}, Account: a, Name: "m"}
			for range 500 {
				answer, err := m.Complete(t.Context(), request)
				paid.Add(answer.Usage.Total())
				if _, out := errors.AsType[*chat.Outage](err); out {
					break
				}
				if err != nil {
					t.Error(err)
					break
				}
			}
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	st := sums(t, c)
	if got := paid.Load(); got > 2050 || got < 1000 || st.Day.Tokens != got || len(st.Open) != 0 {
		t.Errorf("%d were paid, and the sums are %+v", got, st)
	}
}

// One write for four calls, and one at the end.
func TestAShareSavesWrites(t *testing.T) {
	t.Parallel()
	var writes int
	c := interceptor.NewClient(cluster(t, &v1alpha1.Budget{PerDay: tokens(100_000)}).(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	a := account(t, c, "a")
	for range 8 {
		if _, err := (Model{Model: &answering{}, Account: a, Name: "m"}).Complete(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := sums(t, c); writes != 3 || st.Day.Tokens != 800 || st.Day.Cost != "0.00368" {
		t.Errorf("%d writes, %+v", writes, st.Day)
	}
}

// The write was carried out and its answer got lost. The loop that is started again must not count the share twice.
func TestAShareWhoseAnswerWasLostIsTakenOnce(t *testing.T) {
	t.Parallel()
	var lost bool
	c := interceptor.NewClient(cluster(t, &v1alpha1.Budget{PerDay: tokens(100_000)}).(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			err := c.SubResource(sub).Patch(ctx, o, p, opts...)
			if err == nil && !lost {
				lost = true
				return context.DeadlineExceeded
			}
			return err
		},
	})
	model := &answering{}
	if _, err := (Model{Model: model, Account: account(t, c, "a"), Name: "m"}).Complete(t.Context(), request); err == nil || model.asked != 0 {
		t.Fatalf("asked %d times, %v", model.asked, err)
	}
	again := account(t, c, "a")
	again.Remembers = true
	if _, err := (Model{Model: model, Account: again, Name: "m"}).Complete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := sums(t, c); st.Day.Tokens != 100 || len(st.Open) != 0 {
		t.Errorf("%+v", st)
	}
}

func TestACallThatWasBrokenOffCountsAsPaid(t *testing.T) {
	t.Parallel()
	c := cluster(t, &v1alpha1.Budget{PerDay: tokens(100_000)})
	a := account(t, c, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Model{Model: &answering{err: context.Canceled}, Account: a, Name: "m"}).Complete(ctx, request); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// The loop was told to end, and gives its share back all the same.
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if st := sums(t, c); st.Day.Tokens != 100 || len(st.Open) != 0 {
		t.Errorf("%+v", st)
	}
}

func TestAFormerWorkerTakesNothing(t *testing.T) {
	t.Parallel()
	c := cluster(t, &v1alpha1.Budget{PerDay: tokens(100_000)})
	former, later := account(t, c, "a"), account(t, c, "a")
	later.Env.Claim.Epoch = 2
	if _, err := (Model{Model: &answering{}, Account: later, Name: "m"}).Complete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	model := &answering{}
	if _, err := (Model{Model: model, Account: former, Name: "m"}).Complete(t.Context(), request); !errors.Is(err, motorloop.ErrStale) || model.asked != 0 {
		t.Errorf("asked %d times, %v", model.asked, err)
	}
	lone := account(t, c, "b")
	lone.Env.Lease.(*enginetest.Lease).Lose(true)
	if _, err := (Model{Model: model, Account: lone, Name: "m"}).Complete(t.Context(), request); !errors.Is(err, runenv.ErrNoLease) || model.asked != 0 {
		t.Errorf("without its Lease: asked %d times, %v", model.asked, err)
	}
}

// A share of a run that has ended, or was deleted, with its worker is settled by the next run that needs one.
func TestSharesThatWereLeftAreSettledByOthers(t *testing.T) {
	t.Parallel()
	c := cluster(t, &v1alpha1.Budget{PerDay: tokens(100_000)})
	finished, gone, next := account(t, c, "finished"), account(t, c, "gone"), account(t, c, "next")
	run := createRun(t, c, finished)
	for _, a := range []*Account{finished, gone, next} {
		if _, err := (Model{Model: &answering{}, Account: a, Name: "m"}).Complete(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if a == gone {
			run.Status.Usage.TotalTokens = 300
			run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
			if err := c.Update(t.Context(), run); err != nil {
				t.Fatal(err)
			}
		}
	}
	// 300 and a call that may be lost, all of the share of the run that is gone, and the share of the one that goes on.
	if st := sums(t, c); st.Day.Tokens != 300+100+400+400 || len(st.Open) != 1 || st.Open[0].RunName != "next" {
		t.Errorf("%+v", st)
	}
}

// A conflict is no error: the loops would begin anew.
func TestManyFirstCallsAtOnceAllGetTheirShare(t *testing.T) {
	t.Parallel()
	const loops = 48
	c := cluster(t, &v1alpha1.Budget{PerDay: tokens(1_000_000)})
	var wg sync.WaitGroup
	for i := range loops {
		a := account(t, c, fmt.Sprint("run-", i))
		createRun(t, c, a)
		wg.Go(func() {
			if _, err := (Model{Model: &answering{}, Account: a, Name: "m"}).Complete(t.Context(), request); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if st := sums(t, c); len(st.Open) != loops || st.Day.Tokens != loops*400 {
		t.Errorf("%d shares, %+v", len(st.Open), st.Day)
	}
}

// With room for the call, a few of the other runs are looked at. Without, all of them: one that has ended may have what is missing.
func TestOtherRunsAreLookedAtSeldom(t *testing.T) {
	t.Parallel()
	var looks int
	c := interceptor.NewClient(cluster(t, &v1alpha1.Budget{PerDay: tokens(40*400 + 400)}).(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.MotorRun); ok {
				looks++
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	ask := func(name string) error {
		a := account(t, c, name)
		createRun(t, c, a)
		_, err := Model{Model: &answering{}, Account: a, Name: "m"}.Complete(t.Context(), request)
		return err
	}
	for i := range 41 {
		looks = 0
		if err := ask(fmt.Sprint("run-", i)); err != nil {
			t.Fatal(err)
		}
		if looks > fewShares {
			t.Fatalf("%d looks with %d shares", looks, i)
		}
	}
	looks = 0
	if _, out := errors.AsType[*chat.Outage](ask("short")); !out || looks != 41 {
		t.Errorf("%d looks of a run without room", looks)
	}
	run := &v1alpha1.MotorRun{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "run-20"}, run); err != nil {
		t.Fatal(err)
	}
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
	if err := c.Update(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if err := ask("next"); err != nil {
		t.Error(err)
	}
}
