// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// pricedSteps are three answers of one token each, which costs 1 EUR.
func pricedSteps() []chat.Answer {
	answers := threeSteps()
	for i := range answers {
		answers[i].Usage = turn.Usage{PromptTokens: 7, CompletionTokens: 1}
	}
	return answers
}

// withBudget makes the MotorCortex of the run's namespace.
func (r *engineRig) withBudget(change func(*v1alpha1.Budget)) *v1alpha1.MotorCortex {
	r.t.Helper()
	b := &v1alpha1.Budget{
		Currency: "EUR", MaxOutputTokens: 1, Prices: []v1alpha1.ModelPrice{{Model: "model-0", Input: "0", Output: "1000000"}},
	}
	change(b)
	c := &v1alpha1.MotorCortex{ObjectMeta: meta(r.run.Namespace, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Budget: b}}
	must(r.t, admin.Create(r.ctx, c))
	return c
}

func cost(a v1alpha1.Amount) *v1alpha1.BudgetAmount { return &v1alpha1.BudgetAmount{Cost: &a} }

// shortOf waits until the run waits for an ask, or for a reason without one, and gives the outage.
func (r *engineRig) shortOf(ask, reason string) v1alpha1.ModelOutage {
	r.t.Helper()
	var found v1alpha1.ModelOutage
	r.steps(func(steps []v1alpha1.MotorStep) bool {
		return slices.ContainsFunc(steps, func(s v1alpha1.MotorStep) bool {
			if !isOutage(s) {
				return false
			}
			found = *s.Spec.Outage
			if s.Status.Outage != nil {
				found = *s.Status.Outage
			}
			return found.Reason == reason && (found.Ask == nil) == (ask == "") && (ask == "" || found.Ask.ID == ask)
		})
	})
	return found
}

// raise plays the controller, which shows the ask, and the person who answers it.
func (r *engineRig) raise(id string, by v1alpha1.Amount) {
	r.t.Helper()
	p := runpolicy.ReadJournal(r.run, r.steps(func([]v1alpha1.MotorStep) bool { return true }))
	shown := runpolicy.BudgetAsk(r.run, p)
	if shown == nil || shown.ID != id {
		r.t.Fatalf("shown is %+v", shown)
	}
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.PendingInputs = v1alpha1.PendingList(shown) })
	must(r.t, jsonPatch(r.ctx, r.run.DeepCopy(), fmt.Sprintf(
		`[{"op":"add","path":"/spec/responses/-","value":{"id":%q,"decision":"Raise","budget":{"cost":%q}}}]`, id, by)))
}

// A run at the bound of its budget keeps its conversation while it asks, asks again if the raise was too small, and ends as if nothing had been.
func TestEngineAsksAtTheBoundOfTheRun(t *testing.T) {
	model := &stubModel{answers: pricedSteps()}
	r := newEngineRig(t, model, oneAttempt, func(run *v1alpha1.MotorRun) { run.Spec.Budget = cost("1.5") })
	r.withBudget(func(b *v1alpha1.Budget) { b.PerRun = cost("100") })
	r.startEngine("worker-1", nil)
	o := r.shortOf("budget-run-1", v1alpha1.ReasonBudgetExhausted)
	if o.Ask.RaiseBy.Cost == nil || *o.Ask.RaiseBy.Cost != "1.5" || !o.MustAct {
		t.Errorf("it asks %+v", o)
	}
	if n := model.asked.Load(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	r.raise("budget-run-1", "0.4")
	r.shortOf("budget-run-2", v1alpha1.ReasonBudgetExhausted)
	r.raise("budget-run-2", "0.2")
	r.shortOf("budget-run-3", v1alpha1.ReasonBudgetExhausted)
	r.raise("budget-run-3", "5")
	turns := slices.DeleteFunc(r.ended(3), isOutage)
	if len(turns) != 3 || !turns[2].Spec.Final || turns[2].Spec.Content != "done" {
		t.Fatalf("the turns are %+v", turns)
	}
	for _, s := range turns {
		if s.Spec.Usage.Cost != "1" || s.Spec.Usage.Currency != "EUR" || s.Spec.Usage.Unpriced {
			t.Errorf("step %d cost %+v", s.Spec.Index, s.Spec.Usage)
		}
	}
	if u := runpolicy.ReadJournal(r.run, turns).Usage; u.Cost != "3" {
		t.Errorf("the run cost %+v", u)
	}
	if n := model.asked.Load(); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
}

// What a run spent is in the sums of the day once, whichever worker carried it on, and no share is left.
func TestEngineCountsWhatARunSpentInADayOnce(t *testing.T) {
	model := &stubModel{answers: pricedSteps()}
	r := newEngineRig(t, model, oneAttempt, func(run *v1alpha1.MotorRun) { run.Spec.Budget = cost("1.5") })
	r.withBudget(func(b *v1alpha1.Budget) { b.PerDay, b.PerRequester = cost("100"), cost("50") })
	stop := r.startEngine("worker-1", nil)
	r.shortOf("budget-run-1", v1alpha1.ReasonBudgetExhausted)
	stop()
	r.giveTo("worker-2", 2)
	r.startEngine("worker-2", nil)
	r.raise("budget-run-1", "5")
	r.ended(3)
	r.waitForBudget(func(st *v1alpha1.BudgetStatus) bool {
		return st.Day.Cost == "3" && st.Month.Cost == "3" && len(st.Open) == 0 && len(st.Requesters) == 1 && st.Requesters[0].Cost == "3"
	})
}

// waitForBudget waits until the sums of the namespace are as they must be.
func (r *engineRig) waitForBudget(is func(*v1alpha1.BudgetStatus) bool) {
	r.t.Helper()
	c := &v1alpha1.MotorCortex{}
	defer func() {
		if r.t.Failed() {
			r.t.Logf("the sums are %+v", c.Status.Budget)
		}
	}()
	r.waitFor(func() bool {
		must(r.t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.run.Namespace, Name: v1alpha1.CortexName}, c))
		return c.Status.Budget != nil && c.Status.Budget.Day != nil && is(c.Status.Budget)
	})
}

// A worker that is gone in the middle of a call may have paid for it: the sums have the call, and the steps do not.
func TestEngineCountsACallThatWasLostWithItsWorker(t *testing.T) {
	hold := make(chan struct{})
	model := &stubModel{answers: pricedSteps(), fail: func(n int32) error {
		if n == 1 {
			<-hold
		}
		return nil
	}}
	r := newEngineRig(t, model, oneAttempt)
	t.Cleanup(sync.OnceFunc(func() { close(hold) }))
	r.withBudget(func(b *v1alpha1.Budget) { b.PerDay = cost("100") })
	r.startEngine("worker-1", nil)
	r.waitFor(func() bool { return model.asked.Load() == 1 })
	// Another worker takes the run over while the first one hangs in its call.
	r.giveTo("worker-2", 2)
	r.startEngine("worker-2", nil)
	r.waitForBudget(func(st *v1alpha1.BudgetStatus) bool { return st.Day.Cost == "4" && len(st.Open) == 0 })
}

// A hard bound is raised by nothing but the MotorCortex, and the run goes on at once when it is.
func TestEngineStopsAtAHardBound(t *testing.T) {
	model := &stubModel{answers: pricedSteps()}
	r := newEngineRig(t, model, oneAttempt)
	c := r.withBudget(func(b *v1alpha1.Budget) { b.PerDay, b.Hard = cost("1.5"), true })
	r.startEngine("worker-1", nil)
	r.shortOf("", v1alpha1.ReasonBudgetStopped)
	if n := model.asked.Load(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	must(t, mergePatch(r.ctx, c, `{"spec":{"budget":{"perDay":{"cost":"10"}}}}`))
	r.ended(3)
	r.waitForBudget(func(st *v1alpha1.BudgetStatus) bool { return st.Day.Cost == "3" && len(st.Open) == 0 })
}

// A bound of the namespace is raised for all of its runs, by an answer to one of them, once.
func TestEngineAsksAtTheBoundOfTheDay(t *testing.T) {
	model := &stubModel{answers: pricedSteps()}
	r := newEngineRig(t, model, oneAttempt)
	r.withBudget(func(b *v1alpha1.Budget) { b.PerDay = cost("1.5") })
	r.startEngine("worker-1", nil)
	day := r.now().UTC().Format("20060102")
	r.shortOf("budget-day-"+day+"-1", v1alpha1.ReasonBudgetExhausted)
	r.raise("budget-day-"+day+"-1", "10")
	r.ended(3)
	r.waitForBudget(func(st *v1alpha1.BudgetStatus) bool {
		return st.Day.Cost == "3" && len(st.Day.Raises) == 1 && st.Day.Raises[0].Cost == "10" && len(st.Month.Raises) == 0
	})
}

// What a model without a price costs is not known, so a bound of cost keeps it from being asked. A bound of tokens does not.
func TestEngineAsksNoModelWithoutAPriceWhereABoundOfCostApplies(t *testing.T) {
	model := &stubModel{answers: pricedSteps()}
	r := newEngineRig(t, model, oneAttempt)
	c := r.withBudget(func(b *v1alpha1.Budget) { b.PerRun, b.Prices[0].Model = cost("10"), "another" })
	r.startEngine("worker-1", nil)
	r.shortOf("", v1alpha1.ReasonPriceMissing)
	if n := model.asked.Load(); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	must(t, mergePatch(r.ctx, c, `{"spec":{"budget":{"perRun":{"cost":null,"tokens":1000000}}}}`))
	for _, s := range r.ended(3) {
		if u := s.Spec.Usage; u.Cost != "" || u.Unpriced != (u.TotalTokens > 0) {
			t.Errorf("step %d cost %+v", s.Spec.Index, u)
		}
	}
}

// Without a budget nothing is counted, and no object has a field more.
func TestEngineCountsNothingWithoutABudget(t *testing.T) {
	model := &stubModel{answers: pricedSteps()}
	r := newEngineRig(t, model, oneAttempt)
	c := &v1alpha1.MotorCortex{ObjectMeta: meta(r.run.Namespace, v1alpha1.CortexName)}
	must(t, admin.Create(r.ctx, c))
	before := c.ResourceVersion
	r.startEngine("worker-1", nil)
	for _, s := range r.ended(3) {
		if u := s.Spec.Usage; u.Cost != "" || u.Currency != "" || u.Unpriced {
			t.Errorf("step %d cost %+v", s.Spec.Index, u)
		}
	}
	must(t, admin.Get(r.ctx, client.ObjectKeyFromObject(c), c))
	if c.ResourceVersion != before || c.Status.Budget != nil {
		t.Errorf("the MotorCortex was written: %+v", c.Status)
	}
	if budget.IsCounted(c.Spec.Budget) {
		t.Error("a MotorCortex has a budget of its own accord")
	}
}

// stepRefuser refuses each step of a model once, as a webhook or a quota does.
type stepRefuser struct {
	client.Client
	seen map[string]bool
}

func (c stepRefuser) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if s, ok := o.(*v1alpha1.MotorStep); ok && !isOutage(*s) && !c.seen[s.Name] {
		c.seen[s.Name] = true
		return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("motorsteps").GroupResource(), s.Name, errors.New("not yet"))
	}
	return c.Client.Create(ctx, o, opts...)
}

// An answer that is recorded by a later start of the loop was paid when it came.
func TestEngineCountsAnswersThatWereRecordedLater(t *testing.T) {
	model := &stubModel{answers: pricedSteps()}
	r := newEngineRig(t, model, oneAttempt)
	r.withBudget(func(b *v1alpha1.Budget) { b.PerDay = cost("100") })
	r.startEngine("worker-1", func(c client.Client) client.Client { return stepRefuser{c, map[string]bool{}} })
	r.ended(3)
	if n := model.asked.Load(); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
	r.waitForBudget(func(st *v1alpha1.BudgetStatus) bool { return st.Day.Cost == "3" && len(st.Open) == 0 })
}
