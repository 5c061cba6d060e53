// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
)

// short plays the engine of a run that has reached a bound.
func (r *rig) short(id string) {
	r.t.Helper()
	_, err := r.log().Away(r.ctx, &chat.Outage{
		Reason: v1alpha1.ReasonBudgetExhausted, Message: "The run has spent 1 EUR of the 1 EUR that it may, and the next call may take 0.1 EUR.", MustAct: true,
		Ask: &chat.RaiseAsk{ID: id, Cost: "1"},
	}, 3600)
	must(r.t, err)
}

// A person is asked under the id of the outage, what was answered is not asked again, and the time of the run stands still.
func TestARunAtTheBoundOfItsBudgetAsks(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Limits.ActiveDeadlineSeconds = 60 })
	r.ready()
	r.said(turnAt(1, "", "bash:{}"))
	r.short("budget-run-1")
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True BudgetExhausted", "ModelAvailable False BudgetExhausted", "Stalled ")
	st := r.run().Status
	p := st.Pending()
	if p == nil || p.ID != "budget-run-1" || p.Kind != v1alpha1.InputBudgetExhausted || p.RaiseBy == nil || *p.RaiseBy.Cost != "1" || p.ExpirationTime.Sub(p.AskTime.Time) != time.Hour {
		t.Fatalf("pending is %+v", p)
	}
	if st.Reason != v1alpha1.ReasonBudgetExhausted || st.PendingKind != v1alpha1.InputBudgetExhausted || !strings.Contains(st.Message, "kubectl motor raise run") {
		t.Errorf("reason %s, kind %s, message %q", st.Reason, st.PendingKind, st.Message)
	}
	if n := len(slices.DeleteFunc(slices.Clone(r.events), func(e string) bool { return !strings.HasSuffix(e, " BudgetExhausted") })); n != 1 || !slices.Contains(r.events, "Normal BudgetExhausted") {
		t.Errorf("events %v", r.events)
	}
	r.now = r.now.Add(30 * time.Minute)
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "Finished False Running")
	must(t, jsonPatch(r.ctx, r.run(), `[{"op":"add","path":"/spec/responses/-","value":{"id":"budget-run-1","decision":"Raise","budget":{"cost":"0.01"}}}]`))
	r.step()
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered", "ResponsesValid True AllAsked")
	if p := r.run().Status.Pending(); p == nil || !p.Answered {
		t.Errorf("shown is %+v", p)
	}
	// It was too little.
	r.short("budget-run-2")
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True BudgetExhausted")
	if p := r.run().Status.Pending(); p == nil || p.ID != "budget-run-2" || p.ExpirationTime.Sub(r.now) < 20*time.Minute {
		t.Errorf("shown is %+v", p)
	}
	r.now = time.Now()
	r.said(turnAt(2, "", "bash:{}"))
	r.step()
	r.want(v1alpha1.PhaseRunning, "ModelAvailable True ModelAnswers")
	if p := r.run().Status.Pending(); p != nil {
		t.Errorf("still asked: %+v", p)
	}
}

func TestAPersonStopsARunAtTheBoundOfItsBudget(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", "bash:{}"))
	r.short("budget-run-1")
	r.step()
	must(t, jsonPatch(r.ctx, r.run(), `[{"op":"add","path":"/spec/responses/-","value":{"id":"budget-run-1","decision":"Stop","reason":"enough"}}]`))
	r.settle()
	run := r.wantEnd(v1alpha1.PhaseFailed, v1alpha1.ReasonBudgetExhausted)
	if !slices.Contains(r.events, "Warning BudgetExhausted") {
		t.Errorf("events %v", r.events)
	}
	if m := run.Status.Result.Summary; !strings.Contains(m, "decided against a higher bound: enough") {
		t.Errorf("the end is %q", m)
	}
	if f := run.Status.LatestAttempt().Failure; f == nil || f.Category != v1alpha1.CategoryBudgetExhausted || f.Retryable {
		t.Errorf("the failure is %+v", f)
	}
}
