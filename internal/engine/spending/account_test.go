// SPDX-License-Identifier: Apache-2.0

package spending

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func now() time.Time { return enginetest.Noon }

// answering is a model whose answers take 60 tokens for a request and 40 for the answer.
type answering struct {
	asked int
	err   error
}

func (m *answering) Complete(ctx context.Context, _ chat.Request) (chat.Answer, error) {
	m.asked++
	if m.err != nil {
		return chat.Answer{}, m.err
	}
	return chat.Answer{Usage: turn.Usage{PromptTokens: 60, CompletionTokens: 40}}, ctx.Err()
}

// request has 60 tokens by its size.
var request = chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Content: strings.Repeat("x", 240)}}}

func eur(a v1alpha1.Amount) *v1alpha1.BudgetAmount { return &v1alpha1.BudgetAmount{Cost: &a} }

func tokens(n int64) *v1alpha1.BudgetAmount { return &v1alpha1.BudgetAmount{Tokens: &n} }

// cluster has a MotorCortex with a budget: a million tokens of requests cost 1 EUR, and of answers 10 EUR.
func cluster(t *testing.T, b *v1alpha1.Budget) client.Client {
	t.Helper()
	c := &v1alpha1.MotorCortex{}
	c.Namespace, c.Name, c.Spec.Budget = "ns", v1alpha1.CortexName, b
	if b != nil && b.Prices == nil {
		b.Currency, b.MaxOutputTokens = "EUR", 40
		b.Prices = []v1alpha1.ModelPrice{{Model: "m", Input: "1", Output: "10"}}
	}
	return fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(c).WithStatusSubresource(c).Build()
}

func account(t *testing.T, c client.Client, name string) *Account {
	t.Helper()
	run := enginetest.ReadyRun()
	run.Name, run.UID = name, types.UID("uid-"+name)
	run.Spec.Limits.InputDeadlineSeconds = 1800
	return &Account{Env: enginetest.Env(t, c, run, now), Cortex: c}
}

// told is an Observer.
type told map[string]int64

func (o told) ModelPaid(model, currency string, billionths int64) {
	o[model+" "+currency] += billionths
}

func TestAnAnswerHasItsCost(t *testing.T) {
	t.Parallel()
	a, seen := account(t, cluster(t, &v1alpha1.Budget{}), "a"), told{}
	a.Observer = seen
	m := Model{Model: &answering{}, Account: a, Name: "m"}
	answer, err := m.Complete(t.Context(), request)
	if err != nil || answer.Usage.Cost != 460_000 || answer.Usage.Currency != "EUR" || answer.Usage.Unpriced || answer.Failed != (turn.Usage{}) {
		t.Errorf("%+v, %v", answer, err)
	}
	if a.Used != (budget.Spent{Tokens: 100, Cost: 460_000}) || seen["m EUR"] != 460_000 {
		t.Errorf("used %+v, told %v", a.Used, seen)
	}
	m.Name = "another"
	answer, err = m.Complete(t.Context(), request)
	if err != nil || answer.Usage.Cost != 0 || answer.Usage.Currency != "" || !answer.Usage.Unpriced || len(seen) != 1 {
		t.Errorf("%+v, %v, told %v", answer, err, seen)
	}
}

func TestTriesThatFailedHaveTheirCost(t *testing.T) {
	t.Parallel()
	a := account(t, cluster(t, &v1alpha1.Budget{}), "a")
	shared := &chat.Outage{Reason: "ModelUnavailable", Usage: turn.Usage{PromptTokens: 60}}
	_, err := Model{Model: &answering{err: shared}, Account: a, Name: "m"}.Complete(t.Context(), request)
	if got := chat.CostOf(err); got.Cost != 60_000 || got.Currency != "EUR" || shared.Usage.Cost != 0 {
		t.Errorf("%+v, and the client's own error has %+v", got, shared.Usage)
	}
	_, err = Model{Model: &answering{err: &chat.TooLong{Usage: turn.Usage{PromptTokens: 60}}}, Account: a, Name: "m"}.Complete(t.Context(), request)
	if got := chat.CostOf(err); got.Cost != 60_000 {
		t.Errorf("%+v", got)
	}
	if a.Used.Cost != 120_000 {
		t.Errorf("%+v", a.Used)
	}
}

func TestARunAtItsBoundIsNotAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		b             *v1alpha1.Budget
		model         string
		used          int64
		reason, askID string
		waits         time.Duration
		want          string
	}{
		"room":             {&v1alpha1.Budget{PerRun: tokens(100)}, "m", 0, "", "", 0, ""},
		"its own bound":    {&v1alpha1.Budget{PerRun: tokens(100)}, "m", 1, v1alpha1.ReasonBudgetExhausted, "budget-run-1", 30 * time.Minute, "The run has spent 1 of the 100 tokens"},
		"its cost":         {&v1alpha1.Budget{PerRun: eur("0.0004")}, "m", 0, v1alpha1.ReasonBudgetExhausted, "budget-run-1", 30 * time.Minute, "the next call may take 0.00046 EUR"},
		"the day":          {&v1alpha1.Budget{PerDay: tokens(99)}, "m", 0, v1alpha1.ReasonBudgetExhausted, "budget-day-20260101-1", 13 * time.Hour, "This ends at 2026-01-02T00:00:00Z."},
		"the month":        {&v1alpha1.Budget{PerMonth: tokens(99)}, "m", 0, v1alpha1.ReasonBudgetExhausted, "budget-month-202601-1", (30*24 + 13) * time.Hour, "This ends at 2026-02-01T00:00:00Z."},
		"the requester":    {&v1alpha1.Budget{PerRequester: tokens(99)}, "m", 0, v1alpha1.ReasonBudgetExhausted, "budget-requester-20260101-1", 13 * time.Hour, "of the requester"},
		"a hard stop":      {&v1alpha1.Budget{PerDay: tokens(99), Hard: true}, "m", 0, v1alpha1.ReasonBudgetStopped, "", 13 * time.Hour, "Only a change of spec.budget"},
		"no price":         {&v1alpha1.Budget{PerDay: eur("1")}, "another", 0, v1alpha1.ReasonPriceMissing, "", 0, "The model another has no price"},
		"no price, tokens": {&v1alpha1.Budget{PerDay: tokens(1000)}, "another", 0, "", "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, tt.b)
			a := account(t, c, "a")
			a.Used.Tokens = tt.used
			model := &answering{}
			_, err := Model{Model: model, Account: a, Name: tt.model}.Complete(t.Context(), request)
			if tt.reason == "" {
				if err != nil || model.asked != 1 || a.Refused() != nil {
					t.Errorf("asked %d times, %v", model.asked, err)
				}
				return
			}
			o, ok := errors.AsType[*chat.Outage](err)
			if !ok || o.Reason != tt.reason || !o.MustAct || o.WaitsFor != tt.waits || !strings.Contains(o.Message, tt.want) || model.asked != 0 {
				t.Fatalf("%+v, asked %d times", err, model.asked)
			}
			if (o.Ask == nil) != (tt.askID == "") || o.Ask != nil && (o.Ask.ID != tt.askID || o.Ask.Tokens == 0 && o.Ask.Cost == "") {
				t.Errorf("it asks %+v", o.Ask)
			}
			// As long as nothing changes, the same is known without a journal and without a request.
			again := account(t, c, "a").Still(t.Context(), a.Refused())
			if again == nil || again.Reason != o.Reason || again.Message != o.Message {
				t.Errorf("later %+v", again)
			}
			cx := &v1alpha1.MotorCortex{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, cx); err != nil {
				t.Fatal(err)
			}
			cx.Spec.Budget = nil
			if err := c.Update(t.Context(), cx); err != nil {
				t.Fatal(err)
			}
			if again := account(t, c, "a").Still(t.Context(), a.Refused()); again != nil {
				t.Errorf("without a bound %+v", again)
			}
		})
	}
}

// A run without a budget pays nothing for those that have one.
func TestWithoutABudgetNothingIsWritten(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*v1alpha1.Budget{"none": nil, "prices alone": {}, "a bound of the run": {PerRun: tokens(10_000)}} {
		c := cluster(t, b)
		a := account(t, c, "a")
		for range 3 {
			if _, err := (Model{Model: &answering{}, Account: a, Name: "m"}).Complete(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		cx := &v1alpha1.MotorCortex{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, cx); err != nil || cx.ResourceVersion != "999" {
			t.Errorf("%s: version %s, %v", name, cx.ResourceVersion, err)
		}
	}
}
