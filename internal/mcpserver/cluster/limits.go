// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"motorcortex.dev/motorcortex/internal/mcpserver"
	"motorcortex.dev/motorcortex/internal/serving/answers"
	"motorcortex.dev/motorcortex/internal/serving/shares"
)

const (
	// allCalls is the most calls of all namespaces at once, callsOf the most of one. A call can go on when its request has ended. Accounts share what their
	// namespace has: who may make one account there may make many.
	allCalls, callsOf = 512, 64
	// turns is how many calls have large answers of the API server in memory at once.
	turns = 6
	// qpsOf and burstOf are the requests of one namespace's accounts to the API server.
	qpsOf, burstOf = 20, 40
	// shareLife is how long a namespace whose accounts do nothing is remembered.
	shareLife = time.Hour
)

// limits are what namespaces share.
type limits struct {
	calls *shares.Shares
	turns *answers.Turns
	// requests are those of all to the API server.
	requests flowcontrol.RateLimiter
	// known has what namespaces have of them.
	known *cache.LRUExpireCache
}

// newLimits returns the limits of a server that asks the API server as the configuration says.
func newLimits(config *rest.Config) *limits {
	return &limits{
		calls: shares.New(allCalls, callsOf), turns: answers.NewTurns(turns), requests: limiterOf(config),
		known: cache.NewLRUExpireCache(maxServers),
	}
}

// limiterOf is the limiter that a client of the configuration would have for itself.
func limiterOf(config *rest.Config) flowcontrol.RateLimiter {
	if config.QPS < 0 {
		return flowcontrol.NewFakeAlwaysRateLimiter()
	}
	if config.QPS == 0 {
		return flowcontrol.NewTokenBucketRateLimiter(rest.DefaultQPS, rest.DefaultBurst)
	}
	return flowcontrol.NewTokenBucketRateLimiter(config.QPS, max(config.Burst, 1))
}

// share is what the accounts of one namespace have of the limits, wherever their runs are.
type share struct {
	requests flowcontrol.RateLimiter
	turn     *semaphore.Weighted
}

func (l *limits) of(a account) *share {
	if s, ok := l.known.Get(a.namespace()); ok {
		l.known.Add(a.namespace(), s, shareLife)
		return s.(*share)
	}
	s := &share{twice{flowcontrol.NewTokenBucketRateLimiter(qpsOf, burstOf), l.requests}, answers.NewOwn()}
	l.known.Add(a.namespace(), s, shareLife)
	return s
}

// bounds are those of a server for an account.
func (l *limits) bounds(a account) mcpserver.Bounds {
	return mcpserver.Bounds{Enter: l.enter(a), Watch: l.watch(a)}
}

// watch is asked before a run is watched for an account. A watch goes on with the session, and waits for a turn as a call does.
func (l *limits) watch(a account) func(context.Context) (context.Context, func()) {
	s := l.of(a)
	return func(ctx context.Context) (context.Context, func()) {
		turn := l.turns.BeginBrief()
		turn.For(s.turn)
		return turn.With(ctx), turn.End
	}
}

// enter is asked before each call of an account.
func (l *limits) enter(a account) mcpserver.Enter {
	s := l.of(a)
	return func(ctx context.Context) (context.Context, func(), bool) {
		if !l.calls.Take(a.namespace(), 1) {
			return nil, nil, false
		}
		turn := l.turns.BeginBrief() // A call that waits for a run goes on for minutes.
		turn.For(s.turn)
		ctx, cancel := context.WithTimeout(turn.With(ctx), requestTime)
		return ctx, func() {
			cancel()
			turn.End()
			l.calls.Give(a.namespace(), 1)
		}, true
	}
}

// twice waits for the limit of a namespace, and then for that of all. Without the first, the requests of one would stand before those of the others.
type twice struct{ own, all flowcontrol.RateLimiter }

func (t twice) TryAccept() bool { return t.own.TryAccept() && t.all.TryAccept() }

func (t twice) Accept() {
	t.own.Accept()
	t.all.Accept()
}

// Stop does nothing: the limiter of all goes on.
func (t twice) Stop() {}

func (t twice) QPS() float32 { return t.own.QPS() }

func (t twice) Wait(ctx context.Context) error {
	if err := t.own.Wait(ctx); err != nil {
		return err
	}
	return t.all.Wait(ctx)
}
