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

// entered is how one who waited came out of the queue.
type entered struct {
	who    int
	report func(Verdict)
	err    error
}

// line has that many wait, one after the other.
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
			// What teaches nothing makes no more places, only its own is free again.
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

// An answer makes more places, and those who waited longest have them.
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

// No place is waited for at an endpoint that is not to be asked, and one who gives up takes no place.
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

// Who gives up in the moment in which a place is given has it, and gives it back: no place is lost.
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
