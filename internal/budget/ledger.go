// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	dayLayout, monthLayout = time.DateOnly, "2006-01"
	// shareCalls is how many calls a share is for, if there is room for them.
	shareCalls = 4
	// maxRequesters have an entry of their own in a day.
	maxRequesters = 256
	// maxRequester is the longest name of a requester, in bytes of JSON.
	maxRequester = 128
	// others is the entry of requesters that have none of their own, and unknown that of runs without a requester.
	others, unknown = "*", "system:unknown"
)

var (
	// ErrOvertaken reports that a later claim on the run has taken a share, so that this one must not.
	ErrOvertaken = errors.New("a later claim on the run has a share of the budget")
	// ErrFull reports that as many runs have shares as the status can hold.
	ErrFull = errors.New("too many runs of the namespace ask their models at once for its budget to be counted")
)

// Holder is a loop of a run that takes shares.
type Holder struct {
	Run *v1alpha1.MotorRun
	// Epoch is that of the claim on the run.
	Epoch int64
	// Used is what the steps of the run have, and all answers that the process got and that are in no step.
	Used Spent
	// Remembers is true if the process has answers that are in no step yet. Otherwise a share that was not returned may have paid for a call that is lost.
	Remembers bool
	// Broken is true if a call was broken off: it may have been paid for, and no answer says so.
	Broken bool
	// Asked are the ids under which the run asked for raises, as far as its journal has them. A response to another id raises no bound but the run's own: its writer may
	// decide for that run alone.
	Asked []string
}

// Reserve settles what a run used of its share, and returns a new share for calls that take no more than call. If there is no room for a
// single call, it returns the bound that was reached, and the run has no share. The sums then have all that the run spent, each call once: an entry holds what the sums
// have of the run already, and the steps say what that must be.
//
// It changes st, which must be written with the resource version that it was read with.
func Reserve(st *v1alpha1.BudgetStatus, b *v1alpha1.Budget, h Holder, call Spent, now time.Time) (Spent, *Short, error) {
	open(st, b, now)
	s, err := take(st, h)
	if err != nil {
		return Spent{}, nil, err
	}
	s.settle(h)
	raise(st, h)
	if short := s.check(b, call); short != nil {
		s.drop()
		return Spent{}, short, nil
	}
	n := shareCalls
	for n > 1 && s.check(b, call.times(n)) != nil {
		n--
	}
	share := call.times(n)
	s.count(share)
	e := s.entry
	e.ReservedTokens, e.ReservedCost, e.CallTokens, e.CallCost = share.Tokens, Amount(share.Cost), call.Tokens, Amount(call.Cost)
	e.ReservationTime = metav1.NewTime(now.Truncate(time.Second))
	return share, nil, nil
}

// Check returns the bound that keeps a run without a share from a call, nil if there is room. It changes nothing.
func Check(st *v1alpha1.BudgetStatus, b *v1alpha1.Budget, h Holder, call Spent, now time.Time) *Short {
	copied := st.DeepCopy()
	if copied == nil {
		copied = &v1alpha1.BudgetStatus{}
	}
	_, short, err := Reserve(copied, b, h, call, now)
	if err != nil {
		return nil
	}
	return short
}

// Return settles what a run used of its share and gives the rest back. Answers that are in no step yet are in the sums from then on: the next loop of the process has
// them in its Used from the start, and that of another one never gets them. It reports whether anything changed.
func Return(st *v1alpha1.BudgetStatus, h Holder) bool {
	i := slices.IndexFunc(st.Open, func(e v1alpha1.BudgetShare) bool { return e.RunUID == string(h.Run.UID) })
	if i < 0 || st.Open[i].Epoch != h.Epoch {
		return false
	}
	s := &share{st: st, entry: &st.Open[i]}
	h.Remembers = true
	s.settle(h)
	s.drop()
	return true
}

// Ended is how a run stands that has a share.
type Ended int

const (
	// GoesOn: it may still ask its model.
	GoesOn Ended = iota
	// Finished: its status says what it spent.
	Finished
	// Gone: nothing says what it spent, so its share counts as spent.
	Gone
)

// Prune settles the shares of runs that have ended, and reports whether there were any. look returns how a run stands, and what it spent if it is finished.
func Prune(st *v1alpha1.BudgetStatus, look func(uid, name string) (Ended, Spent)) bool {
	before := len(st.Open)
	for i := len(st.Open) - 1; i >= 0; i-- {
		ended, spent := look(st.Open[i].RunUID, st.Open[i].RunName)
		if ended == GoesOn {
			continue
		}
		s := &share{st: st, entry: &st.Open[i]}
		if ended == Finished {
			s.settle(Holder{Used: spent})
		}
		st.Open = slices.Delete(st.Open, i, i+1)
	}
	return len(st.Open) != before
}

// open begins a new day and a new month. A period that is over never comes back, even if the clock goes back. Shares that are open are spent in the new one.
func open(st *v1alpha1.BudgetStatus, b *v1alpha1.Budget, now time.Time) {
	if st.Currency != b.Currency {
		*st = v1alpha1.BudgetStatus{Currency: b.Currency}
	}
	day, month := now.UTC().Format(dayLayout), now.UTC().Format(monthLayout)
	if st.Month == nil || month > st.Month.Period {
		st.Month = &v1alpha1.BudgetPeriod{Period: month}
		addTo(&st.Month.Tokens, &st.Month.Cost, reserved(st))
	}
	if st.Day == nil || day > st.Day.Period {
		st.Day = &v1alpha1.BudgetPeriod{Period: day}
		addTo(&st.Day.Tokens, &st.Day.Cost, reserved(st))
		st.Requesters = nil
		for i := range st.Open {
			e := &st.Open[i]
			r := requester(st, e.Requester)
			e.Requester = r.Name
			addTo(&r.Tokens, &r.Cost, Spent{e.ReservedTokens, billionths(e.ReservedCost)})
		}
	}
}

// reserved returns the sum of the shares.
func reserved(st *v1alpha1.BudgetStatus) Spent {
	var sum Spent
	for i := range st.Open {
		e := &st.Open[i]
		sum = sum.Add(Spent{e.ReservedTokens, billionths(e.ReservedCost)})
	}
	return sum
}

// share is an entry of the ledger with the sums that it is part of.
type share struct {
	st    *v1alpha1.BudgetStatus
	entry *v1alpha1.BudgetShare
}

// take returns the entry of a run, a new one if it has none: what it spent before it took a share is in the sums already, or is none of theirs.
func take(st *v1alpha1.BudgetStatus, h Holder) (*share, error) {
	uid := string(h.Run.UID)
	i := slices.IndexFunc(st.Open, func(e v1alpha1.BudgetShare) bool { return e.RunUID == uid })
	switch {
	case i < 0 && !hasRoom(st, h.Run):
		return nil, ErrFull
	case i < 0:
		i = len(st.Open)
		st.Open = append(st.Open, v1alpha1.BudgetShare{
			RunUID: uid, RunName: h.Run.Name, Epoch: h.Epoch, Requester: requester(st, nameOf(h.Run)).Name,
			SettledTokens: h.Used.Tokens, SettledCost: Amount(h.Used.Cost),
		})
	case st.Open[i].Epoch > h.Epoch:
		return nil, ErrOvertaken
	}
	return &share{st, &st.Open[i]}, nil
}

// settle takes the share out of the sums, and puts in what the run used since the last time. A share that was not returned may have paid for a call of which no step
// tells: unless the process remembers the answer, one call counts as spent.
func (s *share) settle(h Holder) {
	e := s.entry
	settled, held := Spent{e.SettledTokens, billionths(e.SettledCost)}, Spent{e.ReservedTokens, billionths(e.ReservedCost)}
	used := h.Used.Minus(settled)
	if h.Broken || !h.Remembers || e.Epoch != h.Epoch {
		lost := Spent{e.CallTokens, billionths(e.CallCost)}.least(held.Minus(used))
		s.count(lost)
	}
	s.count(used)
	s.uncount(held)
	e.SettledTokens, e.SettledCost = h.Used.Tokens, Amount(h.Used.Cost)
	e.ReservedTokens, e.ReservedCost, e.CallTokens, e.CallCost = 0, "", 0, ""
	e.Epoch = max(e.Epoch, h.Epoch)
}

// drop removes the entry of a run without a share.
func (s *share) drop() {
	uid := s.entry.RunUID
	s.st.Open = slices.DeleteFunc(s.st.Open, func(e v1alpha1.BudgetShare) bool { return e.RunUID == uid })
	s.entry = nil
}

func (s *share) count(n Spent) {
	r := requester(s.st, s.entry.Requester)
	addTo(&s.st.Day.Tokens, &s.st.Day.Cost, n)
	addTo(&s.st.Month.Tokens, &s.st.Month.Cost, n)
	addTo(&r.Tokens, &r.Cost, n)
}

func (s *share) uncount(n Spent) {
	r := requester(s.st, s.entry.Requester)
	takeFrom(&s.st.Day.Tokens, &s.st.Day.Cost, n)
	takeFrom(&s.st.Month.Tokens, &s.st.Month.Cost, n)
	takeFrom(&r.Tokens, &r.Cost, n)
}

// check returns the first bound that a further amount would go beyond.
func (s *share) check(b *v1alpha1.Budget, more Spent) *Short {
	r := requester(s.st, s.entry.Requester)
	for _, at := range []struct {
		scope  Scope
		bound  *v1alpha1.BudgetAmount
		raises []v1alpha1.BudgetRaise
		spent  Spent
		period string
		hard   bool
		full   bool
	}{
		{ScopeDay, b.PerDay, s.st.Day.Raises, Spent{s.st.Day.Tokens, billionths(s.st.Day.Cost)}, s.st.Day.Period, b.Hard, len(s.st.Day.Raises) >= maxRaises},
		{ScopeMonth, b.PerMonth, s.st.Month.Raises, Spent{s.st.Month.Tokens, billionths(s.st.Month.Cost)}, s.st.Month.Period, b.Hard, len(s.st.Month.Raises) >= maxRaises},
		{ScopeRequester, b.PerRequester, r.Raises, Spent{r.Tokens, billionths(r.Cost)}, s.st.Day.Period, false, requesterRaises(s.st) >= maxRaises},
	} {
		bound := boundOf(at.bound)
		if !at.hard {
			for _, raised := range at.raises {
				bound = bound.raisedBy(Spent{raised.Tokens, billionths(raised.Cost)})
			}
		}
		if !bound.holds(at.spent.Add(more)) {
			full := at.full && raiseOfRun(at.raises, s.entry.RunUID) < 0
			return &Short{Scope: at.scope, Period: at.period, Bound: bound, Spent: at.spent, Call: more, Hard: at.hard || full, Full: full && !at.hard}
		}
	}
	return nil
}

// requester returns the entry of a requester, or of those that have none of their own. The pointer is into the status.
func requester(st *v1alpha1.BudgetStatus, name string) *v1alpha1.RequesterBudget {
	for _, n := range []string{name, others} {
		if i := slices.IndexFunc(st.Requesters, func(r v1alpha1.RequesterBudget) bool { return r.Name == n }); i >= 0 {
			return &st.Requesters[i]
		}
		if len(st.Requesters) < maxRequesters || n == others {
			st.Requesters = append(st.Requesters, v1alpha1.RequesterBudget{Name: n})
			return &st.Requesters[len(st.Requesters)-1]
		}
	}
	return nil // The second name always has an entry.
}

// nameOf returns the name under which a run's requester is counted.
func nameOf(run *v1alpha1.MotorRun) string {
	switch r := run.Spec.Requester; {
	case r == nil || r.Username == "" || r.Username == others:
		return unknown
	case text.EncodedLen(r.Username) > maxRequester, text.Shown(r.Username) != r.Username:
		// The status of a MotorCortex has no characters that deceive the eye. Another name would be another entry, with sums of its own.
		sum := sha256.Sum256([]byte(r.Username))
		return "sha256:" + hex.EncodeToString(sum[:])
	default:
		return r.Username
	}
}

func addTo(tokens *int64, cost *v1alpha1.Amount, n Spent) {
	sum := Spent{*tokens, billionths(*cost)}.Add(n)
	*tokens, *cost = sum.Tokens, Amount(sum.Cost)
}

func takeFrom(tokens *int64, cost *v1alpha1.Amount, n Spent) {
	rest := Spent{*tokens, billionths(*cost)}.Minus(n)
	*tokens, *cost = rest.Tokens, Amount(rest.Cost)
}
