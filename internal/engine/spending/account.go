// SPDX-License-Identifier: Apache-2.0

// Package spending keeps what the calls of models cost, and keeps a run from calls that its budget has no room for.
package spending

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Observer is told what calls cost. It must return at once.
type Observer interface {
	// ModelPaid is told of a call that cost something, in billionths of a currency.
	ModelPaid(model, currency string, billionths int64)
}

// Refusal is a call that a bound kept from being made.
type Refusal struct {
	Used, Call budget.Spent
	// Model is the name of the model that was to be asked.
	Model string
}

// Account is what one start of a loop spends. Its methods are called by one goroutine at a time.
type Account struct {
	// Env is the environment of the attempt.
	Env *runenv.Env
	// Cortex reads the MotorCortex, from the cache.
	Cortex client.Reader
	// Used is what the run has spent: what its steps say, and the answers that are in none.
	Used budget.Spent
	// Remembers is true if the process knows all answers that the run got; see budget.Holder.
	Remembers bool
	// Asked are the ids under which the run asked for raises; see budget.Holder.
	Asked []string
	// Observer may be nil.
	Observer Observer

	// share is what is left of the share of the run, and holds is true if the ledger may have one.
	share budget.Spent
	holds bool
	// refused is the last call that was not made.
	refused *Refusal
	// broken is true if a call was broken off. Its endpoint may want to be paid all the same.
	broken bool
}

// Model is a model whose calls are paid from an account.
type Model struct {
	chat.Model
	Account *Account
	// Name is the one that prices are for.
	Name string
}

// Complete asks the model if there is room for the call. Otherwise it returns a *chat.Outage: the run waits, and nothing of it is lost.
func (m Model) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	a := m.Account
	c, err := cortex.Get(ctx, a.Cortex, a.Env.Run.Namespace)
	if err != nil {
		return chat.Answer{}, err
	}
	b := c.Spec.Budget
	call := limits{input: chat.Tokens(r), output: budget.OutputOf(b), tries: 1}
	if err := a.admit(ctx, b, m.Name, call.input); err != nil {
		return chat.Answer{}, err
	}
	answer, err := m.Model.Complete(ctx, r)
	a.broken = a.broken || err != nil && ctx.Err() != nil
	price, priced := budget.PriceOf(b, m.Name)
	bill := func(l limits, u turn.Usage) turn.Usage {
		u = withCost(b, price, priced, l.believed(u))
		a.spend(budget.Spent{Tokens: u.Total(), Cost: u.Cost})
		if priced && a.Observer != nil && u.Cost > 0 {
			a.Observer.ModelPaid(m.Name, u.Currency, u.Cost)
		}
		return u
	}
	failed := call
	failed.tries = mostTries
	call.answered = chat.Estimated(r, answer).CompletionTokens
	answer.Usage, answer.Failed = bill(call, answer.Usage), bill(failed, answer.Failed)
	return answer, billed(err, func(u turn.Usage) turn.Usage { return bill(failed, u) })
}

// withCost returns a usage with its cost. Without prices in the MotorCortex it stays as it is.
func withCost(b *v1alpha1.Budget, p budget.Price, priced bool, u turn.Usage) turn.Usage {
	switch {
	case b == nil || len(b.Prices) == 0 || u.Total() == 0:
	case priced:
		u.Cost, u.Currency = p.Of(u.PromptTokens, u.CachedTokens, u.CompletionTokens), string(b.Currency)
	default:
		u.Unpriced = true
	}
	return u
}

// billed returns an error with the cost of the tries that it tells of. The error of the client is not changed: other runs may share it.
func billed(err error, bill func(turn.Usage) turn.Usage) error {
	switch e := err.(type) { //nolint:errorlint // a wrapped error of another type could not be replaced
	case *chat.Outage:
		o := *e
		o.Usage = bill(o.Usage)
		return &o
	case *chat.TooLong:
		t := *e
		t.Usage = bill(t.Usage)
		return &t
	}
	return err
}

func (a *Account) spend(s budget.Spent) {
	a.Used, a.share = a.Used.Add(s), a.share.Minus(s)
}

// admit returns an error if there is no room for a call with so many tokens in its request.
func (a *Account) admit(ctx context.Context, b *v1alpha1.Budget, model string, input int64) error {
	run := a.Env.Run
	if !budget.Applies(b, run) {
		return nil
	}
	price, priced := budget.PriceOf(b, model)
	call := budget.CallOf(b, price, input)
	if !priced && budget.BoundsCost(b, run) {
		return a.refuse(Refusal{a.Used, call, model}, unpriced(model))
	}
	if short := budget.CheckRun(b, run, a.Used, call); short != nil {
		return a.refuse(Refusal{a.Used, call, model}, a.outage(b, short))
	}
	if !budget.IsCounted(b) || call.Tokens <= a.share.Tokens && call.Cost <= a.share.Cost {
		return nil
	}
	short, err := a.reserve(ctx, call)
	if err != nil {
		return err
	}
	if short != nil {
		return a.refuse(Refusal{a.Used, call, model}, a.outage(b, short))
	}
	return nil
}

func (a *Account) refuse(r Refusal, o *chat.Outage) error {
	a.refused = &r
	return o
}

// Refused returns the last call that was not made, nil if there was none.
func (a *Account) Refused() *Refusal {
	if a == nil {
		return nil
	}
	return a.refused
}

// Still returns the outage of a call that was refused before, if it would be refused again, nil if there is room or nothing is known. It makes no request.
func (a *Account) Still(ctx context.Context, r *Refusal) *chat.Outage {
	c, err := cortex.Get(ctx, a.Cortex, a.Env.Run.Namespace)
	if err != nil {
		return nil //nolint:nilerr // nothing is known, and the loop that is started finds out
	}
	b := c.Spec.Budget
	if !budget.Applies(b, a.Env.Run) {
		return nil
	}
	if _, priced := budget.PriceOf(b, r.Model); !priced && budget.BoundsCost(b, a.Env.Run) {
		return unpriced(r.Model)
	}
	if short := budget.CheckRun(b, a.Env.Run, r.Used, r.Call); short != nil {
		return a.outage(b, short)
	}
	if !budget.IsCounted(b) {
		return nil
	}
	h := budget.Holder{Run: a.Env.Run, Epoch: a.Env.Claim.Epoch, Used: r.Used, Remembers: true, Asked: a.Asked}
	if short := budget.Check(c.Status.Budget, b, h, r.Call, a.Env.APINow()); short != nil {
		return a.outage(b, short)
	}
	return nil
}

// unpriced is the outage of a run with a bound of cost whose model has no price.
func unpriced(model string) *chat.Outage {
	return &chat.Outage{
		Reason: v1alpha1.ReasonPriceMissing, MustAct: true,
		Message: "The model " + model + " has no price, and a bound of cost applies to the run. Add it to spec.budget.prices of the MotorCortex.",
	}
}

// afterPeriod is how long a run waits after the end of a day or a month at least.
const afterPeriod = time.Hour

// outage returns the outage of a run that has reached a bound.
func (a *Account) outage(b *v1alpha1.Budget, s *budget.Short) *chat.Outage {
	var currency v1alpha1.Currency
	if b != nil {
		currency = b.Currency
	}
	o := &chat.Outage{
		Reason: v1alpha1.ReasonBudgetExhausted, Message: s.Message(currency), MustAct: true,
		WaitsFor: time.Duration(a.Env.Run.Spec.Limits.InputDeadlineSeconds) * time.Second,
	}
	if until := s.Until(); !until.IsZero() {
		o.WaitsFor = max(o.WaitsFor, until.Sub(a.Env.APINow())+afterPeriod)
		o.Message += " This ends at " + until.Format(time.RFC3339) + "."
	}
	if s.Hard {
		o.Reason = v1alpha1.ReasonBudgetStopped
		o.Message += " Only a change of spec.budget of the MotorCortex raises this bound."
		return o
	}
	proposal := s.Proposal()
	o.Ask = &chat.RaiseAsk{ID: s.AskID(a.Env.Run), Tokens: proposal.Tokens}
	if proposal.Cost > 0 {
		o.Ask.Cost = string(budget.Amount(proposal.Cost))
	}
	return o
}
