// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// settledIn returns what the ledger has for the day, without shares.
func settledIn(st *v1alpha1.BudgetStatus) Spent {
	return Spent{st.Day.Tokens, billionths(st.Day.Cost)}.Minus(reserved(st))
}

func mustReserve(t *testing.T, st *v1alpha1.BudgetStatus, b *v1alpha1.Budget, h Holder, call Spent, now time.Time) Spent {
	t.Helper()
	share, short, err := Reserve(st, b, h, call, now)
	if err != nil || short != nil {
		t.Fatalf("no share: %+v, %v", short, err)
	}
	return share
}

func TestAShareIsForSeveralCallsIfThereIsRoom(t *testing.T) {
	t.Parallel()
	b := &v1alpha1.Budget{PerDay: amount(1000, "")}
	call := Spent{Tokens: 100}
	st := &v1alpha1.BudgetStatus{}
	if share := mustReserve(t, st, b, Holder{Run: runOf("a"), Epoch: 1}, call, noon); share.Tokens != 400 {
		t.Error(share)
	}
	if share := mustReserve(t, st, b, Holder{Run: runOf("b"), Epoch: 1}, call, noon); share.Tokens != 400 {
		t.Error(share)
	}
	if share := mustReserve(t, st, b, Holder{Run: runOf("c"), Epoch: 1}, call, noon); share.Tokens != 200 {
		t.Error(share)
	}
	_, short, err := Reserve(st, b, Holder{Run: runOf("d"), Epoch: 1}, call, noon)
	if err != nil || short == nil || short.Scope != ScopeDay || short.Period != "2026-11-27" || short.Spent.Tokens != 1000 {
		t.Fatalf("%+v, %v", short, err)
	}
	// The others give back what they do not need.
	if !Return(st, Holder{Run: runOf("a"), Epoch: 1, Used: Spent{Tokens: 30}}) {
		t.Fatal("nothing was given back")
	}
	if share := mustReserve(t, st, b, Holder{Run: runOf("d"), Epoch: 1}, call, noon); share.Tokens != 300 {
		t.Error(share)
	}
	if got := settledIn(st); got.Tokens != 30 || len(st.Open) != 3 {
		t.Errorf("%+v, %d shares", got, len(st.Open))
	}
}

func TestWhatARunSpentBeforeTheBoundWasSetIsNotCounted(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(1000, "")}, &v1alpha1.BudgetStatus{}
	h := Holder{Run: runOf("a"), Epoch: 1, Used: Spent{Tokens: 5000}}
	mustReserve(t, st, b, h, Spent{Tokens: 10}, noon)
	h.Used.Tokens = 5007
	Return(st, h)
	if got := settledIn(st).Tokens; got != 7 {
		t.Error(got)
	}
	// The next loop of the run finds no share, and its steps have the same.
	mustReserve(t, st, b, h, Spent{Tokens: 10}, noon)
	Return(st, h)
	if got := settledIn(st).Tokens; got != 7 {
		t.Error("counted twice:", got)
	}
}

// A worker that ended in the middle of a call may have paid for it. The share was for four calls, and one can be lost.
func TestACallThatMayBeLostCountsOnce(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(1000, "")}, &v1alpha1.BudgetStatus{}
	mustReserve(t, st, b, Holder{Run: runOf("a"), Epoch: 1}, Spent{Tokens: 100}, noon)
	later := Holder{Run: runOf("a"), Epoch: 2, Used: Spent{Tokens: 60}}
	for range 3 {
		mustReserve(t, st, b, later, Spent{Tokens: 10}, noon)
		later.Remembers = true
		if got := settledIn(st).Tokens; got != 160 {
			t.Fatal(got)
		}
	}
	if _, _, err := Reserve(st, b, Holder{Run: runOf("a"), Epoch: 1}, Spent{Tokens: 10}, noon); !errors.Is(err, ErrOvertaken) {
		t.Error("the former worker took a share:", err)
	}
	if Return(st, Holder{Run: runOf("a"), Epoch: 1, Used: Spent{Tokens: 90}}) {
		t.Error("the former worker settled")
	}
}

// Each of these is enough for a call to count that no step tells of.
func TestACallCountsUnlessItIsKnownThatNoneIsLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		next Holder
		want int64
	}{
		"the same process":        {Holder{Epoch: 1, Remembers: true}, 0},
		"another process":         {Holder{Epoch: 1}, 100},
		"another claim":           {Holder{Epoch: 2, Remembers: true}, 100},
		"a call that was broken":  {Holder{Epoch: 1, Remembers: true, Broken: true}, 100},
		"most of the share went":  {Holder{Epoch: 2, Used: Spent{Tokens: 350}}, 400},
		"more than all of it did": {Holder{Epoch: 2, Used: Spent{Tokens: 500}}, 500},
	} {
		b, st := &v1alpha1.Budget{PerDay: amount(10_000, "")}, &v1alpha1.BudgetStatus{}
		tt.next.Run = runOf("a")
		mustReserve(t, st, b, Holder{Run: tt.next.Run, Epoch: 1}, Spent{Tokens: 100}, noon)
		mustReserve(t, st, b, tt.next, Spent{Tokens: 100}, noon)
		if got := settledIn(st).Tokens; got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// The journal was not writable: the answer is in memory, and is recorded later, or never if the worker ends.
func TestAnAnswerThatIsNotRecordedCountsOnce(t *testing.T) {
	t.Parallel()
	b := &v1alpha1.Budget{PerDay: amount(1000, "")}
	for name, next := range map[string]Holder{
		"it is recorded":               {Epoch: 1, Used: Spent{Tokens: 80}, Remembers: true},
		"another process records none": {Epoch: 1, Used: Spent{Tokens: 50}},
		"another process finds it":     {Epoch: 2, Used: Spent{Tokens: 80}},
		"another worker finds none":    {Epoch: 2, Used: Spent{Tokens: 50}},
	} {
		st := &v1alpha1.BudgetStatus{}
		h := Holder{Run: runOf("a"), Epoch: 1}
		mustReserve(t, st, b, h, Spent{Tokens: 100}, noon)
		h.Used.Tokens = 80 // 30 of them in no step
		Return(st, h)
		if got := st.Day.Tokens; got != 80 || len(st.Open) != 0 {
			t.Errorf("%s: %d, %+v", name, got, st.Open)
		}
		next.Run = h.Run
		mustReserve(t, st, b, next, Spent{Tokens: 10}, noon)
		if got := settledIn(st).Tokens; got != 80 {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestANewDayBeginsWithTheSharesThatAreOpen(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(1000, ""), PerMonth: amount(5000, ""), PerRequester: amount(1000, "")}, &v1alpha1.BudgetStatus{}
	h := Holder{Run: runOf("a"), Epoch: 1, Remembers: true}
	mustReserve(t, st, b, h, Spent{Tokens: 100}, noon)
	h.Used.Tokens = 90
	mustReserve(t, st, b, h, Spent{Tokens: 100}, noon)
	tomorrow := noon.AddDate(0, 0, 1)
	mustReserve(t, st, b, Holder{Run: runOf("b"), Epoch: 1}, Spent{Tokens: 1}, tomorrow)
	if st.Day.Period != "2026-11-28" || st.Day.Tokens != 404 || st.Requesters[0].Tokens != 404 || st.Month.Tokens != 494 {
		t.Errorf("%+v %+v %+v", st.Day, st.Requesters, st.Month)
	}
	h.Used.Tokens = 190
	Return(st, h)
	if st.Day.Tokens != 104 || st.Requesters[0].Tokens != 104 || st.Month.Tokens != 194 {
		t.Errorf("%+v %+v %+v", st.Day, st.Requesters, st.Month)
	}
	// A clock that goes back does not bring back a day with room in it.
	mustReserve(t, st, b, Holder{Run: runOf("c"), Epoch: 1}, Spent{Tokens: 1}, noon)
	if st.Day.Period != "2026-11-28" || st.Day.Tokens != 108 {
		t.Errorf("%+v", st.Day)
	}
	mustReserve(t, st, b, Holder{Run: runOf("d"), Epoch: 1}, Spent{Tokens: 1}, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	mustReserve(t, st, b, Holder{Run: runOf("e"), Epoch: 1}, Spent{Tokens: 1}, noon)
	if st.Month.Period != "2026-12" || st.Month.Tokens != 16 || st.Day.Tokens != 16 {
		t.Errorf("%+v %+v", st.Day, st.Month)
	}
}

// Days are those of UTC, wherever the manager runs.
func TestADayIsOneOfUTC(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(1000, "")}, &v1alpha1.BudgetStatus{}
	east := time.FixedZone("east", 10*3600)
	mustReserve(t, st, b, Holder{Run: runOf("a"), Epoch: 1}, Spent{Tokens: 1}, time.Date(2026, 12, 1, 3, 0, 0, 0, east))
	if st.Day.Period != "2026-11-30" || st.Month.Period != "2026-11" {
		t.Errorf("%+v %+v", st.Day, st.Month)
	}
}

func TestARaiseIsAddedToThePeriodOnce(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(100, ""), PerRequester: amount(150, "")}, &v1alpha1.BudgetStatus{}
	h := Holder{Run: runOf("a"), Epoch: 1, Remembers: true, Asked: []string{"budget-day-20261127-1", "budget-requester-20261127-1"}}
	call := Spent{Tokens: 80}
	mustReserve(t, st, b, h, call, noon)
	h.Used.Tokens = 80
	_, short, _ := Reserve(st, b, h, call, noon)
	if short == nil || short.AskID(h.Run) != "budget-day-20261127-1" {
		t.Fatalf("%+v", short)
	}
	h.Run = runOf("a", raiseOf("budget-day-20261127-1", 100, ""))
	for range 3 {
		_, short, _ = Reserve(st, b, h, call, noon)
	}
	if short == nil || short.Scope != ScopeRequester || short.AskID(h.Run) != "budget-requester-20261127-1" {
		t.Fatalf("%+v", short)
	}
	h.Run = runOf("a", raiseOf("budget-day-20261127-1", 100, ""), raiseOf("budget-requester-20261127-1", 100, ""))
	mustReserve(t, st, b, h, call, noon)
	h.Used.Tokens = 160
	if _, short, _ = Reserve(st, b, h, call, noon); short == nil || short.Bound.Tokens != 200 {
		t.Fatalf("%+v", short)
	}
	if len(st.Day.Raises) != 1 {
		t.Errorf("%+v", st.Day.Raises)
	}
	// Tomorrow the answer of today counts for nothing.
	if share := mustReserve(t, st, b, h, call, noon.AddDate(0, 0, 1)); share.Tokens != 80 || len(st.Day.Raises) != 0 {
		t.Errorf("%+v, %+v", share, st.Day.Raises)
	}
}

func TestAHardBoundIsRaisedByNoAnswer(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(100, ""), Hard: true}, &v1alpha1.BudgetStatus{}
	h := Holder{Run: runOf("a", raiseOf("budget-day-20261127-1", 1000, "")), Epoch: 1}
	_, short, _ := Reserve(st, b, h, Spent{Tokens: 101}, noon)
	if short == nil || !short.Hard {
		t.Fatalf("%+v", short)
	}
	b.PerDay = amount(200, "")
	mustReserve(t, st, b, h, Spent{Tokens: 101}, noon)
}

func TestSharesOfRunsThatHaveEndedAreSettled(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(10_000, "")}, &v1alpha1.BudgetStatus{}
	for _, name := range []string{"goes", "finished", "gone"} {
		mustReserve(t, st, b, Holder{Run: runOf(name), Epoch: 1}, Spent{Tokens: 100}, noon)
	}
	look := func(uid, _ string) (Ended, Spent) {
		switch uid {
		case "uid-finished":
			return Finished, Spent{Tokens: 350}
		case "uid-gone":
			return Gone, Spent{}
		}
		return GoesOn, Spent{}
	}
	if !Prune(st, look) || Prune(st, look) {
		t.Error("not once")
	}
	// 350 and what is left of the share, which may have paid for a call that is lost; all of the share of a run that is gone.
	if got := settledIn(st).Tokens; got != 400+400 || len(st.Open) != 1 {
		t.Errorf("%d, %+v", got, st.Open)
	}
}

// Requesters choose no part of the size of the status.
func TestTheNumberOfRequestersIsBounded(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerRequester: amount(1000, "")}, &v1alpha1.BudgetStatus{}
	for i := range maxRequesters + 50 {
		run := runOf(fmt.Sprint(i))
		run.Spec.Requester.Username = fmt.Sprintf("%03d-%s", i, strings.Repeat("x", i*4))
		mustReserve(t, st, b, Holder{Run: run, Epoch: 1}, Spent{Tokens: 1}, noon)
	}
	if n := len(st.Requesters); n != maxRequesters+1 || st.Requesters[maxRequesters].Name != others || st.Requesters[maxRequesters].Tokens != 200 {
		t.Errorf("%d, the last one is %+v", n, st.Requesters[len(st.Requesters)-1])
	}
	for _, r := range st.Requesters {
		if len(r.Name) > maxRequester {
			t.Errorf("a name of %d bytes", len(r.Name))
		}
	}
	hidden := runOf("hidden")
	hidden.Spec.Requester.Username = "jo\u202e"
	kept := &v1alpha1.BudgetStatus{}
	mustReserve(t, kept, b, Holder{Run: hidden, Epoch: 1}, Spent{Tokens: 1}, noon)
	before := kept.Requesters[0].Name
	if text.ShowAll(kept); kept.Requesters[0].Name != before || strings.ContainsRune(before, '\u202e') {
		t.Errorf("the name is %q, and %q once the status was written by others", before, kept.Requesters[0].Name)
	}
	run := runOf("nameless")
	run.Spec.Requester = nil
	st = &v1alpha1.BudgetStatus{}
	mustReserve(t, st, b, Holder{Run: run, Epoch: 1}, Spent{Tokens: 1}, noon)
	if st.Requesters[0].Name != unknown {
		t.Errorf("%+v", st.Requesters)
	}
}

func TestACheckChangesNothing(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(100, "")}, &v1alpha1.BudgetStatus{}
	mustReserve(t, st, b, Holder{Run: runOf("a"), Epoch: 1}, Spent{Tokens: 90}, noon)
	before := fmt.Sprintf("%+v", st)
	if Check(st, b, Holder{Run: runOf("b"), Epoch: 1}, Spent{Tokens: 20}, noon) == nil || Check(st, b, Holder{Run: runOf("b"), Epoch: 1}, Spent{Tokens: 10}, noon) != nil {
		t.Error("another verdict than that of Reserve")
	}
	if after := fmt.Sprintf("%+v", st); after != before {
		t.Errorf("%s, and before %s", after, before)
	}
	if Check(nil, b, Holder{Run: runOf("b"), Epoch: 1}, Spent{Tokens: 20}, noon) != nil {
		t.Error("an empty ledger is full")
	}
}

func TestAnotherCurrencyBeginsAnew(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{Currency: "EUR", PerDay: amount(0, "1")}, &v1alpha1.BudgetStatus{}
	mustReserve(t, st, b, Holder{Run: runOf("a"), Epoch: 1}, Spent{Cost: unit}, noon)
	b.Currency = "USD"
	mustReserve(t, st, b, Holder{Run: runOf("b"), Epoch: 1}, Spent{Cost: unit}, noon)
	if st.Currency != "USD" || st.Day.Cost != "1" || len(st.Open) != 1 {
		t.Errorf("%+v", st)
	}
}

// simulated is a run with a worker that can end at any moment.
type simulated struct {
	run   *v1alpha1.MotorRun
	epoch int64
	// recorded is what its steps have, paid what its calls took, and unrecorded what the process got and could not record.
	recorded, paid, unrecorded Spent
	// The memory of its worker: used, share, and whether it has begun.
	used, share Spent
	begun       bool
	ended       Ended
}

// TestNoSequenceOfFaultsCountsTwiceOrLosesACall plays runs whose workers crash before, in and after calls, whose writes are made twice, and which are deleted. Whatever
// happens, the ledger has all that was paid, and for each crash one call at most that was not. What is paid stays within the bound.
func TestNoSequenceOfFaultsCountsTwiceOrLosesACall(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		play(t, seed)
	}
}

func play(t *testing.T, seed uint64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	bound := int64(2000 + rnd.IntN(20_000))
	b, st := &v1alpha1.Budget{PerDay: amount(bound, ""), PerRequester: amount(bound, "")}, &v1alpha1.BudgetStatus{}
	runs := make([]*simulated, 4)
	for i := range runs {
		runs[i] = &simulated{run: runOf(fmt.Sprint(i)), epoch: 1}
	}
	most := int64(0) // what crashes may have counted too much
	crash := func(s *simulated, call int64) {
		if s.begun {
			most += max(call, s.share.Tokens)
		}
		s.epoch, s.begun, s.used, s.share, s.unrecorded = s.epoch+1, false, Spent{}, Spent{}, Spent{}
	}
	for range 120 {
		s := runs[rnd.IntN(len(runs))]
		if s.ended != GoesOn {
			continue
		}
		if !s.begun {
			s.used, s.share = s.recorded.Add(s.unrecorded), Spent{}
		}
		call := Spent{Tokens: int64(1 + rnd.IntN(200))}
		if call.Tokens > s.share.Tokens {
			Prune(st, func(uid, _ string) (Ended, Spent) {
				for _, o := range runs {
					if string(o.run.UID) == uid {
						return o.ended, o.recorded
					}
				}
				return Gone, Spent{}
			})
			h := Holder{Run: s.run, Epoch: s.epoch, Used: s.used, Remembers: s.begun}
			share, short, err := Reserve(st, b, h, call, noon)
			if err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(4) == 0 && short == nil {
				// The answer to the write was lost, and it is made again.
				h.Remembers = true
				if share, short, err = Reserve(st, b, h, call, noon); err != nil {
					t.Fatal(err)
				}
			}
			if short != nil {
				s.begun = false
				continue
			}
			s.share, s.begun = share, true
		}
		if rnd.IntN(10) == 0 {
			crash(s, 0) // before the call
			continue
		}
		took := Spent{Tokens: rnd.Int64N(call.Tokens + 1)}
		s.paid = s.paid.Add(took)
		switch rnd.IntN(14) {
		case 0:
			crash(s, call.Tokens) // before the answer was recorded
			continue
		case 1: // The worker was told to end in the middle of the call.
			most += s.share.Tokens
			Return(st, Holder{Run: s.run, Epoch: s.epoch, Used: s.used, Broken: true})
			s.begun = false
			continue
		case 2: // Its step was refused, and the loop ends.
			s.used, s.unrecorded = s.used.Add(took), s.unrecorded.Add(took)
			Return(st, Holder{Run: s.run, Epoch: s.epoch, Used: s.used})
			s.begun = false
			continue
		}
		if rnd.IntN(2) == 0 { // The answers of before are recorded, too.
			s.recorded, s.unrecorded = s.recorded.Add(s.unrecorded), Spent{}
		}
		s.used, s.share, s.recorded = s.used.Add(took), s.share.Minus(took), s.recorded.Add(took)
		switch rnd.IntN(12) {
		case 0:
			crash(s, 0) // after it was recorded
		case 1:
			h := Holder{Run: s.run, Epoch: s.epoch, Used: s.used}
			Return(st, h)
			Return(st, h)
			s.begun = false
		case 2:
			most += s.share.Tokens
			s.ended = Finished
		case 3:
			most += s.share.Tokens
			s.ended = Gone
		}
		if open := reserved(st).Tokens; open > st.Day.Tokens {
			t.Fatalf("seed %d: shares of %d in a sum of %d", seed, open, st.Day.Tokens)
		}
	}
	var paid, unsettled int64
	for _, s := range runs {
		paid += s.paid.Tokens
	}
	if st.Day == nil {
		return
	}
	unsettled = reserved(st).Tokens
	switch counted := st.Day.Tokens; {
	case counted < paid:
		t.Errorf("seed %d: %d were paid and %d counted", seed, paid, counted)
	case counted > paid+most+unsettled:
		t.Errorf("seed %d: %d were paid and %d counted, with %d of crashes and %d reserved", seed, paid, counted, most, unsettled)
	case paid > bound:
		t.Errorf("seed %d: %d were paid of %d", seed, paid, bound)
	case st.Requesters[0].Tokens != counted:
		t.Errorf("seed %d: %d in the day and %d of its only requester", seed, counted, st.Requesters[0].Tokens)
	}
}
