// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"motorcortex.dev/motorcortex/internal/serving/answers"
)

// The accounts of one namespace have its calls at once and no more, and each call has an end.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLimits(&rest.Config{})
	a, b := account{user: serviceAccounts + "one:a", uid: "1"}, account{user: serviceAccounts + "two:b", uid: "2"}
	beside := account{user: serviceAccounts + "one:c", uid: "3"}
	var leave []func()
	for i := range callsOf {
		ctx, end, ok := l.enter(a)(t.Context())
		if !ok || answers.Of(ctx) == nil {
			t.Fatalf("call %d: %t, its answers wait for no turn", i, ok)
		}
		if _, ends := ctx.Deadline(); !ends {
			t.Fatal("a call has no end")
		}
		leave = append(leave, end)
	}
	for _, of := range []account{a, beside} {
		if _, _, ok := l.enter(of)(t.Context()); ok {
			t.Error("the accounts of a namespace have too many calls")
		}
	}
	if _, end, ok := l.enter(b)(t.Context()); !ok {
		t.Error("another namespace has none")
	} else {
		end()
	}
	for _, end := range leave {
		end()
	}
	if _, _, ok := l.enter(a)(t.Context()); !ok {
		t.Error("calls that have ended count")
	}
}

// All clients of a namespace's accounts have one limit, which lets those of others through.
func TestOneLimitForAnAccount(t *testing.T) {
	t.Parallel()
	l := newLimits(&rest.Config{QPS: 1000, Burst: 1000})
	a, b := account{user: serviceAccounts + "one:a", uid: "1"}, account{user: serviceAccounts + "two:b", uid: "2"}
	beside := account{user: serviceAccounts + "one:c", uid: "3"}
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for range burstOf {
		if !l.of(a).requests.TryAccept() {
			t.Fatal("a namespace has fewer requests than it may have")
		}
	}
	if l.of(a).requests.TryAccept() || l.of(beside).requests.TryAccept() {
		t.Error("two clients of a namespace's accounts have two limits")
	}
	if err := l.of(a).requests.Wait(over); err == nil {
		t.Error("a request that may not wait any more goes through")
	}
	if !l.of(b).requests.TryAccept() {
		t.Error("a namespace waits for another one")
	}
	l.requests = flowcontrol.NewTokenBucketRateLimiter(1e-6, 1)
	l.known.RemoveAll(func(any) bool { return true })
	if err := l.of(a).requests.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.of(b).requests.Wait(over); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("all together have no limit: %v", err)
	}
}

// The answers of a watch wait for the turn of the namespace, and it ends neither by a time nor with a call.
func TestAWatchHasATurn(t *testing.T) {
	t.Parallel()
	l := newLimits(&rest.Config{})
	a := account{user: serviceAccounts + "one:a", uid: "1"}
	ctx, leave := l.bounds(a).Watch(t.Context())
	defer leave()
	if _, ends := ctx.Deadline(); ends || answers.Of(ctx) == nil {
		t.Errorf("it has an end: %t, its answers wait for no turn: %t", ends, answers.Of(ctx) == nil)
	}
	for range callsOf {
		if _, _, ok := l.enter(a)(t.Context()); !ok {
			t.Fatal("a watch counts as a call")
		}
	}
}
