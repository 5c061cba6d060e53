// SPDX-License-Identifier: Apache-2.0

package spending

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

const (
	// firstPause and lastPause are the longest pauses before the first and a late try after a conflict.
	firstPause, lastPause = 50 * time.Millisecond, 500 * time.Millisecond
	// fewShares is how many shares of other runs are looked at where there is room.
	fewShares = 8
	// returnTime bounds the return of a share by a loop that was told to end.
	returnTime = 5 * time.Second
)

// reserve takes a share for a call, and for further ones like it. It returns the bound that was reached if there is no room.
func (a *Account) reserve(ctx context.Context, call budget.Spent) (*budget.Short, error) {
	if !a.Env.Lease.MayDecide() {
		return nil, runenv.ErrNoLease
	}
	var share budget.Spent
	var short *budget.Short
	others := &others{account: a}
	err := a.change(ctx, func(c *v1alpha1.MotorCortex) error {
		if !budget.IsCounted(c.Spec.Budget) {
			// It was changed since it was read.
			share, short = call, nil
			return nil
		}
		if c.Status.Budget == nil {
			c.Status.Budget = &v1alpha1.BudgetStatus{}
		}
		others.prune(ctx, c.Status.Budget, fewShares)
		h := budget.Holder{Run: a.Env.Run, Epoch: a.Env.Claim.Epoch, Used: a.Used, Remembers: a.Remembers, Asked: a.Asked}
		var err error
		share, short, err = budget.Reserve(c.Status.Budget, c.Spec.Budget, h, call, a.Env.APINow())
		if (short != nil || errors.Is(err, budget.ErrFull)) && others.prune(ctx, c.Status.Budget, len(c.Status.Budget.Open)) {
			share, short, err = budget.Reserve(c.Status.Budget, c.Spec.Budget, h, call, a.Env.APINow())
		}
		return err
	})
	if errors.Is(err, budget.ErrOvertaken) {
		return nil, motorloop.ErrStale
	}
	if err != nil {
		return nil, fmt.Errorf("reserve a share of the namespace's budget: %w", err)
	}
	a.share, a.holds, a.Remembers = share, short == nil, true
	return short, nil
}

// Close returns what is left of the share to the sums. It is called when the loop has ended, even by its context.
func (a *Account) Close(ctx context.Context) error {
	if !a.holds || !a.Env.Lease.MayDecide() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	h := budget.Holder{Run: a.Env.Run, Epoch: a.Env.Claim.Epoch, Used: a.Used, Broken: a.broken}
	err := a.change(ctx, func(c *v1alpha1.MotorCortex) error {
		if c.Status.Budget != nil {
			budget.Return(c.Status.Budget, h)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("give back a share of the namespace's budget: %w", err)
	}
	a.holds = false
	return nil
}

// change makes a change of the status of the MotorCortex that no other writer saw in between. It is made again from the present state after a conflict, until the
// context ends: a conflict is no error of the run, whose loop would begin anew with its journal and its sandbox. The pauses are random and grow, or many loops that
// begin at once would keep each other from writing.
func (a *Account) change(ctx context.Context, alter func(*v1alpha1.MotorCortex) error) error {
	reader, pause := a.Cortex, firstPause
	for {
		c, err := cortex.Get(ctx, reader, a.Env.Run.Namespace)
		if err != nil {
			return err
		}
		before := c.DeepCopy()
		if err := alter(c); err != nil {
			return err
		}
		if equality.Semantic.DeepEqual(before.Status, c.Status) {
			return nil
		}
		err = a.Env.Client.Status().Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			return err
		}
		// The cache lags behind.
		reader = a.Env.Live
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

// others knows how the other runs with a share stand. Each is looked at once for a change, however often that is made again.
type others struct {
	account *Account
	seen    map[string]standing
}

type standing struct {
	ended budget.Ended
	spent budget.Spent
}

// prune settles the shares of other runs that have ended, and reports whether there were any. It looks at so many of them, in a random place: a run gives its share
// back itself, and only those whose worker is gone are left. To read every run for every share would cost more than the calls.
func (o *others) prune(ctx context.Context, st *v1alpha1.BudgetStatus, most int) bool {
	if o.seen == nil {
		o.seen = map[string]standing{}
	}
	skip := rand.N(max(len(st.Open)-most, 0) + 1)
	return budget.Prune(st, func(uid, name string) (budget.Ended, budget.Spent) {
		s, known := o.seen[uid]
		if skip--; !known && (skip >= 0 || skip < -most) {
			return budget.GoesOn, budget.Spent{}
		}
		if !known {
			s.ended, s.spent = o.account.look(ctx, uid, name)
			o.seen[uid] = s
		}
		return s.ended, s.spent
	})
}

// look returns how a run with a share stands, as the cache has it. A run that the cache does not know yet counts as gone: then its share stays in the sums.
func (a *Account) look(ctx context.Context, uid, name string) (budget.Ended, budget.Spent) {
	if uid == string(a.Env.Run.UID) {
		return budget.GoesOn, budget.Spent{}
	}
	run := &v1alpha1.MotorRun{}
	err := a.Env.Client.Get(ctx, client.ObjectKey{Namespace: a.Env.Run.Namespace, Name: name}, run)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(run.UID) != uid:
		return budget.Gone, budget.Spent{}
	case err == nil && apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished):
		return budget.Finished, budget.SpentOf(run.Status.Usage)
	}
	return budget.GoesOn, budget.Spent{}
}
