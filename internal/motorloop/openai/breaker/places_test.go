// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// crowded is an endpoint that takes one request at a time, and that request's report.
func crowded(t *testing.T) (*clock, *Endpoint, func(Verdict)) {
	t.Helper()
	c, e := endpoint()
	mustEnter(t, e)(Verdict{Err: errAway, Busy: true})
	return c, e, mustEnter(t, e)
}

// entered is how a waiting caller left the queue.
type entered struct {
	who    int
	report func(Verdict)
	err    error
}

// line makes that many wait, one after the other.
func line(ctx context.Context, e *Endpoint, n int) chan entered {
	out := make(chan entered, n)
	for i := range n {
		go func() {
			report, err := e.Enter(ctx)
			out <- entered{i, report, err}
		}()
		synctest.Wait()
	}
	return out
}

func TestPlacesAreGivenInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, e, report := crowded(t)
		out := line(t.Context(), e, 9)
		var order []int
		for len(order) < 9 {
			// An outcome that proves nothing adds no slots; only its own is free again.
			report(Verdict{Unknown: true})
			in := <-out
			if in.err != nil {
				t.Fatal(in.err)
			}
			order, report = append(order, in.who), in.report
			synctest.Wait()
			if len(out) > 0 {
				t.Fatal("two at the same time")
			}
		}
		if !slices.IsSorted(order) {
			t.Errorf("the order is %v", order)
		}
	})
}

// An answer adds slots, and the callers that waited longest get them.
func TestAnswersMakePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, e, report := crowded(t)
		out := line(t.Context(), e, 5)
		report(Verdict{})
		synctest.Wait()
		first, second := <-out, <-out
		if first.who+second.who != 1 || len(out) > 0 {
			t.Errorf("%d and %d have places, and %d more", first.who, second.who, len(out))
		}
		first.report(Verdict{})
		second.report(Verdict{})
		synctest.Wait()
		if len(out) != 3 {
			t.Errorf("%d of 3 have places", len(out))
		}
	})
}

// No caller waits for a slot at an endpoint that must not be called, and a caller that gives up takes no slot.
func TestTheQueueEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, e, report := crowded(t)
		ctx, cancel := context.WithCancel(t.Context())
		gone := line(ctx, e, 2)
		out := line(t.Context(), e, 3)
		cancel()
		for range 2 {
			if in := <-gone; !errors.Is(in.err, context.Canceled) {
				t.Errorf("who gave up got %v", in.err)
			}
		}
		report(Verdict{Err: errAway, MustAct: true})
		for range 3 {
			if in := <-out; !errors.Is(in.err, errAway) {
				t.Errorf("got %v", in.err)
			}
		}
		if len(e.waiting) > 0 || e.asking != 0 {
			t.Errorf("%d wait, %d ask", len(e.waiting), e.asking)
		}
	})
}

// A caller that gives up in the moment in which it gets a slot has it, and releases it: no slot is lost.
func TestNoPlaceIsLost(t *testing.T) {
	t.Parallel()
	_, e := endpoint()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 64 { // Which of the two is seen first is chance.
		if report, err := e.Enter(ctx); err == nil {
			report(Verdict{Unknown: true})
		}
	}
	if e.asking != 0 {
		t.Errorf("%d places are lost", e.asking)
	}
}
