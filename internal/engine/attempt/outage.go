// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"fmt"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// A run whose model is not available has no goroutine: its loop ends, and is started again at the time of the next try.
const (
	// The pause between two tries is a quarter of the duration of the outage so far, within these bounds.
	minAway    = 2 * time.Second
	maxAway    = time.Minute
	maxAwayAct = 2 * time.Minute
)

// windowed is a model that knows how many tokens fit into its window.
type windowed interface{ Window() int64 }

// awayable is a model that knows without a request that it is not available.
type awayable interface{ Away() *chat.Outage }

// knownAway returns the outage of the model if the next step is a request to it: then no preparations for that are needed.
func knownAway(model chat.Model, turns []*turn.Turn) error {
	m, ok := model.(awayable)
	if !ok || len(turns) > 0 && !turns[len(turns)-1].Settled() {
		return nil
	}
	if o := m.Away(); o != nil {
		return o
	}
	return nil
}

// window returns how many tokens fit into the window of the model: the setting of the MotorCortex, or the endpoint's limit if that is lower.
func window(endpoint cortex.Endpoint, model chat.Model) int64 {
	configured := int64(endpoint.ContextTokens)
	m, ok := model.(windowed)
	if !ok {
		return configured
	}
	if learnt := m.Window(); configured == 0 || learnt > 0 && learnt < configured {
		return learnt
	}
	return configured
}

// missing returns the outage of a model that cannot be asked before something is configured.
func missing(p *cortex.Problem) *chat.Outage {
	return &chat.Outage{Reason: p.Reason, Message: p.Message, MustAct: true}
}

// awayUntil records that the model is not available. The error is the outage with the time of the next try, or, when the time for it is over, the
// failure that ends the attempt.
func (a *Attempt) awayUntil(ctx context.Context, o *chat.Outage) error {
	env := a.Env
	if !env.Lease.MayDecide() {
		return runenv.ErrNoLease
	}
	said := *o
	said.Message = env.Known.Hide(o.Message)
	step, err := env.Entries.Away(ctx, &said, a.waitSeconds(o))
	if err != nil {
		return err
	}
	outage, now := runpolicy.OutageOf(step), env.APINow()
	outage.Observed = env.Observed()
	left := outage.Until(env.Run).Sub(outage.Observed.Now(now))
	if left <= 0 && isBudget(said.Reason) {
		return &outcome.Failure{
			Category: outcome.BudgetExhausted, Reason: said.Reason,
			Message: fmt.Sprintf("%s The bound was not raised within %d s.", said.Message, outage.DeadlineSeconds),
		}
	}
	if left <= 0 {
		return &outcome.Failure{
			Category: outcome.ModelFailure, Reason: said.Reason, Retryable: true,
			Message: fmt.Sprintf("%s The model could not be had for %d s (outageDeadlineSeconds of the model in the MotorCortex).",
				said.Message, outage.DeadlineSeconds),
		}
	}
	a.Memory.Outage = outage
	said.RetryAfter = untilNextTry(&said, now.Sub(outage.Since), left)
	return &said
}

// untilNextTry returns how long to wait after a try in an outage that has lasted for some time, and for which some is left.
func untilNextTry(o *chat.Outage, lasted, left time.Duration) time.Duration {
	most := maxAway
	if o.MustAct {
		most = maxAwayAct
	}
	pause := breaker.Jittered(min(max(lasted/4, minAway), most))
	return min(max(o.RetryAfter, pause), left)
}

// stillAway returns the outage in which the last start of the loop ended, if the loops that share the endpoint know that it goes on for the same reason. It
// makes no request for this run: however many runs wait for an endpoint, one of them tries. An outage for lack of room goes on while the namespace is
// held. It returns nil if there is anything to do or to record.
func (a *Attempt) stillAway(ctx context.Context) *chat.Outage {
	last := a.Memory.Outage
	a.Memory.Outage = nil
	if last == nil {
		return nil
	}
	var o *chat.Outage
	switch {
	case last.Reason == v1alpha1.ReasonStorageFull:
		o = a.held(ctx)
	case a.Memory.refused != nil && (isBudget(last.Reason) || last.Reason == v1alpha1.ReasonPriceMissing):
		account := a.newAccount()
		if last.Ask != nil {
			account.Asked = []string{last.Ask.ID}
		}
		o = account.Still(ctx, a.Memory.refused)
	case a.Host.AwayModels.Cortex != nil:
		o = a.knownOutage(ctx)
	}
	if o == nil || o.Reason != last.Reason || o.MustAct != last.MustAct || o.Usage != (turn.Usage{}) || !asksFor(last, o.Ask) {
		return nil
	}
	now := a.Env.APINow()
	last.Observed = a.Env.Observed()
	left := last.Until(a.Env.Run).Sub(last.Observed.Now(now))
	if left <= 0 {
		return nil
	}
	a.Memory.Outage = last
	// What is recorded has no secret value in it.
	said := chat.Outage{Reason: o.Reason, Message: last.Message, MustAct: o.MustAct}
	said.RetryAfter = untilNextTry(o, now.Sub(last.Since), left)
	return &said
}

// held returns the outage of a run whose namespace keeps too much, nil if it may go on or that is not known. It reads no journal: runs that are held
// would read theirs again and again, at a time when etcd has enough to do.
func (a *Attempt) held(ctx context.Context) *chat.Outage {
	if a.Host.Storage == nil {
		return nil
	}
	if why, err := a.Host.Storage.Held(ctx, a.Env.Run.Namespace); err == nil && why != "" {
		return outOfRoom(why)
	}
	return nil
}

// knownOutage returns the outage that the endpoint of the run's model is known to have now, nil if it may be asked or nothing is known.
func (a *Attempt) knownOutage(ctx context.Context) *chat.Outage {
	var model chat.Model
	endpoint, err := a.Host.AwayModels.Resolve(ctx, a.Env.Run)
	if err == nil {
		model, err = a.Host.NewModel(endpoint)
	}
	if known, ok := model.(awayable); ok && err == nil {
		return known.Away()
	}
	return nil
}
