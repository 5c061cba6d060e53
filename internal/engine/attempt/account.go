// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"math"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/engine/spending"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

func (a *Attempt) newAccount() *spending.Account {
	return &spending.Account{Env: a.Env, Cortex: a.Host.Models.Cortex, Remembers: a.Memory.counts, Observer: a.Host.Spending}
}

// openAccount opens the account of a loop of a run that has spent what its journal says, and what earlier loops paid for and could not record.
func (a *Attempt) openAccount(p runpolicy.Progress) {
	a.account = a.newAccount()
	a.account.Used = a.Memory.paid.resume(budget.SpentOf(p.Usage))
	a.account.Asked = runpolicy.AskedRaises(a.Env.Entries.Everything())
	a.Memory.counts = true
}

// paid is what a process paid for a run and found in none of its steps when a loop ended. memoModel gives those answers again without a price, and an answer that is
// never recorded was paid all the same.
type paid struct{ recorded, unrecorded budget.Spent }

// resume returns what the run has spent. recorded is what its steps have by now: a step whose write seemed to fail may be among them.
func (p *paid) resume(recorded budget.Spent) budget.Spent {
	p.unrecorded = p.unrecorded.Minus(recorded.Minus(p.recorded))
	p.recorded = recorded
	return recorded.Add(p.unrecorded)
}

// pause notes what a loop has spent that ends, and what the steps have.
func (p *paid) pause(used, recorded budget.Spent) {
	*p = paid{recorded, used.Minus(recorded)}
}

// closeAccount returns what the loop did not spend of its share to the sums. It comes after everything that the attempt records.
func (a *Attempt) closeAccount(ctx context.Context) {
	a.Memory.refused = a.account.Refused()
	if a.account == nil {
		return
	}
	recorded := runpolicy.ReadJournal(a.Env.Run, a.Env.Entries.Everything()).Usage
	a.Memory.paid.pause(a.account.Used, budget.SpentOf(recorded))
	if err := a.account.Close(ctx); err != nil {
		// The next loop of the run settles it, or the one of another run of the namespace after its end.
		a.Env.Log.Info("a share of the budget was not given back yet", "error", err)
	}
}

// isBudget reports whether an outage is a bound that was reached.
func isBudget(reason string) bool {
	return reason == v1alpha1.ReasonBudgetExhausted || reason == v1alpha1.ReasonBudgetStopped
}

// waitSeconds returns how long the run waits in an outage.
func (a *Attempt) waitSeconds(o *chat.Outage) int32 {
	if o.WaitsFor > 0 {
		return int32(min(o.WaitsFor/time.Second, math.MaxInt32))
	}
	return a.awaySeconds
}

// asksFor reports whether an outage that was recorded asks what a new one asks.
func asksFor(last *runpolicy.Outage, ask *chat.RaiseAsk) bool {
	if last.Ask == nil || ask == nil {
		return last.Ask == nil && ask == nil
	}
	return last.Ask.ID == ask.ID
}
