// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Scope is what a bound is about.
type Scope string

const (
	ScopeRun       Scope = "run"
	ScopeDay       Scope = "day"
	ScopeMonth     Scope = "month"
	ScopeRequester Scope = "requester"
)

// Bound is the most that may be spent, math.MaxInt64 where there is no bound.
type Bound struct{ Tokens, Cost int64 }

// unbounded bounds nothing.
var unbounded = Bound{math.MaxInt64, math.MaxInt64}

func boundOf(a *v1alpha1.BudgetAmount) Bound {
	b := unbounded
	if a != nil && a.Tokens != nil {
		b.Tokens = *a.Tokens
	}
	if a != nil && a.Cost != nil {
		b.Cost = billionths(*a.Cost)
	}
	return b
}

// raisedBy returns the bound with an amount added. What is not bounded stays so.
func (b Bound) raisedBy(s Spent) Bound { return Bound{add(b.Tokens, s.Tokens), add(b.Cost, s.Cost)} }

func (b Bound) holds(s Spent) bool { return s.Tokens <= b.Tokens && s.Cost <= b.Cost }

// proposal returns the amount by which a person is asked to raise a bound: as much as it was, and no less than one call needs.
func (b Bound) proposal(over Spent) Spent {
	var p Spent
	if b.Tokens != math.MaxInt64 {
		p.Tokens = max(b.Tokens, over.Tokens)
	}
	if b.Cost != math.MaxInt64 {
		p.Cost = min(max(b.Cost, over.Cost), maxCost)
	}
	return p
}

// RunBound returns what a run may spend: the narrower one of the namespace's bound and its own, and what people added.
func RunBound(b *v1alpha1.Budget, run *v1alpha1.MotorRun) Bound {
	own := boundOf(run.Spec.Budget)
	if b != nil {
		all := boundOf(b.PerRun)
		own = Bound{min(own.Tokens, all.Tokens), min(own.Cost, all.Cost)}
	}
	raised, _ := raisesOf(run, askPrefix(ScopeRun, ""))
	return own.raisedBy(raised)
}

// IsCounted reports whether a bound is about more than one run, so that their sums are kept in the status of the MotorCortex.
func IsCounted(b *v1alpha1.Budget) bool {
	return b != nil && (b.PerDay != nil || b.PerMonth != nil || b.PerRequester != nil)
}

// BoundsCost reports whether a bound of cost applies to a run, so that its model must have a price.
func BoundsCost(b *v1alpha1.Budget, run *v1alpha1.MotorRun) bool {
	bounds := []*v1alpha1.BudgetAmount{run.Spec.Budget}
	if b != nil {
		bounds = append(bounds, b.PerRun, b.PerDay, b.PerMonth, b.PerRequester)
	}
	for _, a := range bounds {
		if a != nil && a.Cost != nil {
			return true
		}
	}
	return false
}

// Applies reports whether anything bounds a run.
func Applies(b *v1alpha1.Budget, run *v1alpha1.MotorRun) bool {
	return run.Spec.Budget != nil || b != nil && b.PerRun != nil || IsCounted(b)
}

// Short says which bound keeps a run from asking its model.
type Short struct {
	Scope Scope
	// Period is the day or the month of the bound, "" for that of a run.
	Period string
	Bound  Bound
	// Spent is what was spent within the bound, and Call the most that the next call takes.
	Spent, Call Spent
	// Hard is true if no person can raise the bound for the run. Full is true if that is so because too many other runs have raised it.
	Hard, Full bool
}

// CheckRun returns why a run that has spent something may make no further call, nil if it may.
func CheckRun(b *v1alpha1.Budget, run *v1alpha1.MotorRun, spent, call Spent) *Short {
	bound := RunBound(b, run)
	if bound.holds(spent.Add(call)) {
		return nil
	}
	return &Short{Scope: ScopeRun, Bound: bound, Spent: spent, Call: call}
}

// Proposal returns the amount by which a person is asked to raise the bound.
func (s *Short) Proposal() Spent {
	over := s.Spent.Add(s.Call)
	return s.Bound.proposal(Spent{max(over.Tokens-s.Bound.Tokens, 0), max(over.Cost-s.Bound.Cost, 0)})
}

// AskID returns the id under which the run asks for a raise. It has the number of raises before, so that an answer raises the bound once.
func (s *Short) AskID(run *v1alpha1.MotorRun) string {
	prefix := askPrefix(s.Scope, s.Period)
	_, n := raisesOf(run, prefix)
	return prefix + strconv.Itoa(n+1)
}

// Until returns when the bound ends by itself, zero for never.
func (s *Short) Until() time.Time {
	switch s.Scope {
	case ScopeDay, ScopeRequester:
		if day, err := time.Parse(dayLayout, s.Period); err == nil {
			return day.AddDate(0, 0, 1)
		}
	case ScopeMonth:
		if month, err := time.Parse(monthLayout, s.Period); err == nil {
			return month.AddDate(0, 1, 0)
		}
	case ScopeRun:
	}
	return time.Time{}
}

// Message says for a person which bound was reached.
func (s *Short) Message(currency v1alpha1.Currency) string {
	var about string
	switch s.Scope {
	case ScopeRun:
		about = "The run has spent %s of the %s that it may"
	case ScopeDay:
		about = "The runs of the namespace have spent %s of the %s that they may on " + s.Period
	case ScopeMonth:
		about = "The runs of the namespace have spent %s of the %s that they may in " + s.Period
	case ScopeRequester:
		about = "The runs of the requester have spent %s of the %s that they may on " + s.Period
	}
	var spent, bound, call string
	if s.Spent.Add(s.Call).Cost > s.Bound.Cost {
		spent, bound, call = Cost(Amount(s.Spent.Cost), currency), Cost(Amount(s.Bound.Cost), currency), Cost(Amount(s.Call.Cost), currency)
	} else {
		spent, bound, call = strconv.FormatInt(s.Spent.Tokens, 10), fmt.Sprintf("%d tokens", s.Bound.Tokens), fmt.Sprintf("%d tokens", s.Call.Tokens)
	}
	message := fmt.Sprintf(about+", and the next call may take %s.", spent, bound, call)
	if s.Full {
		message += fmt.Sprintf(" Answers to %d other runs have raised the bound, and no more can.", maxRaises)
	}
	return message
}

// askIDs is the beginning of the id of every ask for a raise.
const askIDs = "budget-"

func askPrefix(s Scope, period string) string {
	if period == "" {
		return askIDs + string(s) + "-"
	}
	return askIDs + string(s) + "-" + strings.ReplaceAll(period, "-", "") + "-"
}

// IsAskID reports whether an ask for a raise can have the id.
func IsAskID(id string) bool { return strings.HasPrefix(id, askIDs) }

// Answers returns how many answers to asks for a raise the run has.
func Answers(run *v1alpha1.MotorRun) int {
	n := 0
	for i := range run.Spec.Responses {
		if IsAskID(run.Spec.Responses[i].ID) {
			n++
		}
	}
	return n
}

// raisesOf returns by how much people raised a bound for the run, and how often.
func raisesOf(run *v1alpha1.MotorRun, prefix string) (Spent, int) {
	var sum Spent
	n := 0
	for _, r := range responses(run, prefix) {
		sum = sum.Add(amountOf(r.Budget))
		n++
	}
	return sum, n
}

func responses(run *v1alpha1.MotorRun, prefix string) []*v1alpha1.Response {
	var list []*v1alpha1.Response
	for i := range run.Spec.Responses {
		if r := &run.Spec.Responses[i]; r.Decision == v1alpha1.DecisionRaise && strings.HasPrefix(r.ID, prefix) {
			list = append(list, r)
		}
	}
	return list
}

func amountOf(a *v1alpha1.BudgetAmount) Spent {
	var s Spent
	if a != nil && a.Tokens != nil {
		s.Tokens = *a.Tokens
	}
	if a != nil && a.Cost != nil {
		s.Cost = billionths(*a.Cost)
	}
	return s
}
