// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func amount(tokens int64, cost v1alpha1.Amount) *v1alpha1.BudgetAmount {
	a := &v1alpha1.BudgetAmount{}
	if tokens > 0 {
		a.Tokens = &tokens
	}
	if cost != "" {
		a.Cost = &cost
	}
	return a
}

func runOf(name string, raises ...v1alpha1.Response) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1alpha1.MotorRunSpec{Requester: &v1alpha1.Requester{Username: "jo"}, Responses: raises},
	}
}

func raiseOf(id string, tokens int64, cost v1alpha1.Amount) v1alpha1.Response {
	return v1alpha1.Response{ID: id, Decision: v1alpha1.DecisionRaise, Budget: amount(tokens, cost)}
}

func TestARunNarrowsTheBoundOfItsNamespaceAndNeverWidensIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		all, own *v1alpha1.BudgetAmount
		raises   []v1alpha1.Response
		want     Bound
	}{
		"none":                         {nil, nil, nil, unbounded},
		"the namespace's":              {amount(100, "1"), nil, nil, Bound{100, unit}},
		"its own":                      {nil, amount(50, ""), nil, Bound{50, math.MaxInt64}},
		"narrower":                     {amount(100, "1"), amount(50, "0.5"), nil, Bound{50, unit / 2}},
		"wider":                        {amount(100, "1"), amount(500, "5"), nil, Bound{100, unit}},
		"one of each":                  {amount(100, ""), amount(0, "2"), nil, Bound{100, 2 * unit}},
		"raised":                       {amount(100, "1"), nil, []v1alpha1.Response{raiseOf("budget-run-1", 10, "0.1"), raiseOf("budget-run-2", 5, "")}, Bound{115, unit + unit/10}},
		"raised, but without a bound":  {nil, nil, []v1alpha1.Response{raiseOf("budget-run-1", 10, "0.1")}, unbounded},
		"another bound was raised":     {amount(100, "1"), nil, []v1alpha1.Response{raiseOf("budget-day-20261127-1", 10, "0.1")}, Bound{100, unit}},
		"a person stopped the run":     {amount(100, "1"), nil, []v1alpha1.Response{{ID: "budget-run-1", Decision: v1alpha1.DecisionStop}}, Bound{100, unit}},
		"an answer to something else":  {amount(100, "1"), nil, []v1alpha1.Response{{ID: "a1-s1-c0", Answer: "yes"}}, Bound{100, unit}},
		"a raise without an amount":    {amount(100, "1"), nil, []v1alpha1.Response{{ID: "budget-run-1", Decision: v1alpha1.DecisionRaise}}, Bound{100, unit}},
		"a raise of tokens, cost only": {amount(0, "1"), nil, []v1alpha1.Response{raiseOf("budget-run-1", 10, "")}, Bound{math.MaxInt64, unit}},
	} {
		run := runOf("a", tt.raises...)
		run.Spec.Budget = tt.own
		if got := RunBound(&v1alpha1.Budget{PerRun: tt.all}, run); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestACallThatMayGoBeyondTheBoundOfTheRunIsNotMade(t *testing.T) {
	t.Parallel()
	b := &v1alpha1.Budget{Currency: "EUR", PerRun: amount(1000, "1")}
	run := runOf("a")
	for name, tt := range map[string]struct {
		spent, call Spent
		short       bool
	}{
		"room":           {Spent{0, 0}, Spent{500, unit / 2}, false},
		"just room":      {Spent{500, unit / 2}, Spent{500, unit / 2}, false},
		"too many":       {Spent{500, 0}, Spent{501, 0}, true},
		"too expensive":  {Spent{0, unit / 2}, Spent{1, unit/2 + 1}, true},
		"beyond already": {Spent{5000, 0}, Spent{1, 0}, true},
	} {
		if got := CheckRun(b, run, tt.spent, tt.call); (got != nil) != tt.short {
			t.Errorf("%s: %+v", name, got)
		}
	}
	short := CheckRun(b, run, Spent{900, unit - 1}, Spent{50, unit / 10})
	if id := short.AskID(run); id != "budget-run-1" || !IsAskID(id) {
		t.Error(id)
	}
	if text := short.Message("EUR"); text != "The run has spent 0.999999999 EUR of the 1 EUR that it may, and the next call may take 0.1 EUR." {
		t.Error(text)
	}
	if p := short.Proposal(); p != (Spent{1000, unit}) {
		t.Errorf("%+v", p)
	}
	if !short.Until().IsZero() {
		t.Error("the bound of a run ends by itself")
	}
}

// Otherwise a person would raise the bound, and the run would ask for the same again.
func TestTheProposalIsEnoughForTheCall(t *testing.T) {
	t.Parallel()
	b := &v1alpha1.Budget{PerRun: amount(10, "0.01")}
	run := runOf("a")
	spent, call := Spent{500, unit}, Spent{7000, 3 * unit}
	p := CheckRun(b, run, spent, call).Proposal()
	run.Spec.Responses = []v1alpha1.Response{raiseOf("budget-run-1", p.Tokens, Amount(p.Cost))}
	if short := CheckRun(b, run, spent, call); short != nil {
		t.Errorf("%+v after a raise by %+v", short, p)
	}
}

// An answer raises a bound once: the next ask has another id.
func TestEachRaiseHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	run := runOf("a", raiseOf("budget-run-1", 1, ""), raiseOf("budget-day-20261127-1", 1, ""))
	for want, s := range map[string]Short{
		"budget-run-2":            {Scope: ScopeRun},
		"budget-day-20261127-2":   {Scope: ScopeDay, Period: "2026-11-27"},
		"budget-day-20261128-1":   {Scope: ScopeDay, Period: "2026-11-28"},
		"budget-month-202611-1":   {Scope: ScopeMonth, Period: "2026-11"},
		"budget-requester-2026-1": {Scope: ScopeRequester, Period: "2026"},
	} {
		if got := s.AskID(run); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if n := Answers(run); n != 2 {
		t.Error(n)
	}
}

func TestTheBoundOfAPeriodEndsWithIt(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Short{
		"2026-12-01T00:00:00Z": {Scope: ScopeDay, Period: "2026-11-30"},
		"2027-01-01T00:00:00Z": {Scope: ScopeMonth, Period: "2026-12"},
		"2028-03-01T00:00:00Z": {Scope: ScopeRequester, Period: "2028-02-29"},
		"0001-01-01T00:00:00Z": {Scope: ScopeDay, Period: "of another format"},
	} {
		if got := s.Until().Format(time.RFC3339); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if text := s.Message(""); strings.Contains(text, "%!") {
			t.Error(text)
		}
	}
}

func TestAPriceIsNeededWhereABoundOfCostApplies(t *testing.T) {
	t.Parallel()
	run := runOf("a")
	if BoundsCost(nil, run) || BoundsCost(&v1alpha1.Budget{PerRun: amount(5, ""), PerDay: amount(5, "")}, run) {
		t.Error("a bound of tokens needs a price")
	}
	for _, b := range []*v1alpha1.Budget{{PerRun: amount(0, "1")}, {PerDay: amount(0, "1")}, {PerMonth: amount(0, "1")}, {PerRequester: amount(0, "1")}} {
		if !BoundsCost(b, run) || !Applies(b, run) {
			t.Errorf("%+v", b)
		}
	}
	run.Spec.Budget = amount(0, "1")
	if !BoundsCost(nil, run) || !Applies(nil, run) {
		t.Error("the bound of the run")
	}
	if b := priced(); Applies(b, runOf("b")) || IsCounted(b) {
		t.Error("prices alone bound something")
	}
}
