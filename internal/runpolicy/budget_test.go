// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

func paid(tokens int64, cost v1alpha1.Amount) v1alpha1.Usage {
	return v1alpha1.Usage{TotalTokens: tokens, Cost: cost, Currency: "EUR"}
}

// A leader of the last release writes the list of attempts without the costs.
func TestCostsOfAttemptsAreFoundAgain(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{}
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1, CompletionTime: &metav1.Time{Time: t0}}, {Index: 2}}
	step := func(attempt, index int32, u v1alpha1.Usage) v1alpha1.MotorStep {
		return v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: index, Usage: u}}
	}
	steps := []v1alpha1.MotorStep{step(1, 1, paid(10, "0.1")), step(1, 2, paid(10, "0.2")), step(2, 1, paid(10, "1")), step(2, 2, v1alpha1.Usage{TotalTokens: 5, Unpriced: true})}
	steps[1].Spec.FailedUsage = paid(1, "0.01")
	p := ReadJournal(run, steps)
	if u := p.Usage; u.Cost != "1.31" || u.Currency != "EUR" || !u.Unpriced {
		t.Errorf("the run cost %+v", u)
	}
	ShowCosts(&run.Status, p)
	if u := run.Status.Attempts[0].Usage; u.Cost != "0.31" || u.Currency != "EUR" || u.Unpriced {
		t.Errorf("the first attempt cost %+v", u)
	}
	if u := run.Status.Attempts[1].Usage; u.Cost != "1" || !u.Unpriced {
		t.Errorf("the second attempt cost %+v", u)
	}
	steps = steps[:1]
	steps[0].Spec.Usage = v1alpha1.Usage{TotalTokens: 10}
	if p = ReadJournal(run, steps); p.Costs != nil || p.Usage.Cost != "" {
		t.Errorf("without prices %+v", p.Costs)
	}
}

// short is the observation of a run whose model is not asked because of a bound.
func short(responses ...v1alpha1.Response) Observation {
	amount := v1alpha1.Amount("0.5")
	run := &v1alpha1.MotorRun{}
	run.CreationTimestamp = metav1.NewTime(t0)
	run.Spec.Limits.ActiveDeadlineSeconds, run.Spec.Limits.InputDeadlineSeconds = 60, 1800
	run.Spec.Responses = responses
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}}
	o := v1alpha1.ModelOutage{
		DeadlineSeconds: 1800, Reason: v1alpha1.ReasonBudgetExhausted, Message: "The run has spent 1 EUR.", MustAct: true,
		Ask: &v1alpha1.BudgetAsk{ID: "budget-run-1", RaiseBy: v1alpha1.BudgetAmount{Cost: &amount}},
	}
	s := v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepOutage, Attempt: 1, Index: 2, Outage: &o}}
	s.CreationTimestamp = metav1.NewTime(t0.Add(30 * time.Second))
	return Observation{Run: run, Progress: ReadJournal(run, []v1alpha1.MotorStep{s})}
}

func TestARunAtABoundOfItsBudgetWaitsForAPerson(t *testing.T) {
	t.Parallel()
	o := short()
	p := BudgetAsk(o.Run, o.Progress)
	if p == nil || p.ID != "budget-run-1" || p.Kind != v1alpha1.InputBudgetExhausted || *p.RaiseBy.Cost != "0.5" || !strings.Contains(p.Question, "The run has spent 1 EUR. Raise the bound, by 0.5 or") {
		t.Fatalf("%+v", p)
	}
	if !p.ExpirationTime.Time.Equal(t0.Add(30*time.Second + 30*time.Minute)) {
		t.Errorf("it waits until %s", p.ExpirationTime)
	}
	for name, tt := range map[string]struct {
		response v1alpha1.Response
		answered bool
		ends     bool
	}{
		"a raise":                 {v1alpha1.Response{ID: "budget-run-1", Decision: v1alpha1.DecisionRaise}, true, false},
		"a stop":                  {v1alpha1.Response{ID: "budget-run-1", Decision: v1alpha1.DecisionStop, RespondedBy: "jo"}, true, true},
		"a decision of no use":    {v1alpha1.Response{ID: "budget-run-1", Decision: v1alpha1.DecisionRetry}, false, false},
		"an answer to an earlier": {v1alpha1.Response{ID: "budget-run-0", Decision: v1alpha1.DecisionStop}, false, false},
		"an answer":               {v1alpha1.Response{ID: "budget-run-1", Answer: "yes"}, false, false},
	} {
		o := short(tt.response)
		p := BudgetAsk(o.Run, o.Progress)
		if got := Answered(o.Run, p); got != tt.answered {
			t.Errorf("%s: answered is %v", name, got)
		}
		// The run's own time is over by then, but for the wait.
		d := Decide(o, t0.Add(20*time.Minute))
		if (d.End != nil) != tt.ends {
			t.Errorf("%s: %+v", name, d.End)
		}
		if d.End != nil && (d.End.Reason != v1alpha1.ReasonBudgetExhausted || d.End.Failure.Category != v1alpha1.CategoryBudgetExhausted || d.End.Failure.Retryable ||
			!strings.Contains(d.End.Message, "jo decided against a higher bound.")) {
			t.Errorf("%s: it ends with %+v", name, d.End)
		}
		o.Run.Status.PendingInputs = v1alpha1.PendingList(p)
		if rests, _ := Rests(o.Run, o.Progress, observed.Time{}, t0); rests {
			t.Errorf("%s: its way out is closed, and it may go on by itself", name)
		}
	}
	if unknown := UnknownResponses(short(v1alpha1.Response{ID: "budget-day-20261127-1", Decision: v1alpha1.DecisionRaise}).Run, o.Progress); len(unknown) > 0 {
		t.Errorf("an answer to a bound that is over: %v", unknown)
	}
	if BudgetAsk(o.Run, Progress{}) != nil || BudgetAsk(o.Run, Progress{Outage: &Outage{}}) != nil {
		t.Error("a run asks without a bound")
	}
}

// A person who is asked late has the whole time.
func TestALaterAskHasATimeOfItsOwn(t *testing.T) {
	t.Parallel()
	s := v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepOutage, Outage: &v1alpha1.ModelOutage{DeadlineSeconds: 60}}}
	s.Status.Outage = &v1alpha1.ModelOutage{DeadlineSeconds: 600}
	if got := OutageOf(&s).DeadlineSeconds; got != 60 {
		t.Errorf("an outage is extended by another reason: %d", got)
	}
	s.Status.Outage.Ask = &v1alpha1.BudgetAsk{ID: "budget-run-1"}
	if got := OutageOf(&s).DeadlineSeconds; got != 600 {
		t.Errorf("an ask has %d seconds", got)
	}
}
