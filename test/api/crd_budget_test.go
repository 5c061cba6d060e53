// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestTheAPIServerTakesOnlyABudgetThatMeansSomething(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	for name, tt := range map[string]struct{ budget, refused string }{
		"prices and bounds":           {`{"currency":"EUR","prices":[{"model":"m","input":"0.15","cachedInput":"0","output":"12.5"}],"perRun":{"cost":"0.50","tokens":1000},"perDay":{"cost":"5"},"hard":true}`, ""},
		"tokens without a currency":   {`{"perRun":{"tokens":1000}}`, ""},
		"prices without a currency":   {`{"prices":[{"model":"m","input":"1","output":"1"}]}`, "prices and costs need a currency"},
		"a cost without a currency":   {`{"perMonth":{"cost":"1"}}`, "prices and costs need a currency"},
		"a bound of nothing":          {`{"perDay":{}}`, "tokens, cost or both are needed"},
		"a negative price":            {`{"currency":"EUR","prices":[{"model":"m","input":"-1","output":"1"}]}`, "spec.budget.prices[0].input"},
		"a price that is no number":   {`{"currency":"EUR","prices":[{"model":"m","input":"1e3","output":"1"}]}`, "spec.budget.prices[0].input"},
		"a number in place of a text": {`{"currency":"EUR","perRun":{"cost":0.5}}`, "spec.budget.perRun.cost"},
		"more digits than are kept":   {`{"currency":"EUR","perRun":{"cost":"0.0000000001"}}`, "spec.budget.perRun.cost"},
		"two prices of a model":       {`{"currency":"EUR","prices":[{"model":"m","input":"1","output":"1"},{"model":"m","input":"2","output":"2"}]}`, "Duplicate value"},
		"a currency that is a word":   {`{"currency":"euro","perRun":{"cost":"1"}}`, "spec.budget.currency"},
		"no tokens at all":            {`{"perRun":{"tokens":0}}`, "spec.budget.perRun.tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			c := &v1alpha1.MotorCortex{ObjectMeta: meta(newNamespace(ctx, t), v1alpha1.CortexName)}
			must(t, admin.Create(ctx, c))
			err := mergePatch(ctx, c, `{"spec":{"budget":`+tt.budget+`}}`)
			if tt.refused == "" {
				must(t, err)
				return
			}
			wantRefused(t, err, "", tt.refused)
		})
	}
	c := &v1alpha1.MotorCortex{ObjectMeta: meta(newNamespace(ctx, t), v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Budget: &v1alpha1.Budget{Currency: "EUR"}}}
	must(t, admin.Create(ctx, c))
	wantRefused(t, mergePatch(ctx, c, `{"spec":{"budget":{"currency":"USD"}}}`), "spec.budget.currency", "currency never changes")
	must(t, mergePatch(ctx, c, `{"spec":{"budget":null}}`))
	must(t, mergePatch(ctx, c, `{"spec":{"budget":{"currency":"USD"}}}`))
}

// Who may answer questions must not be able to spend the money of the namespace.
func TestARaiseNeedsTheRightToApproveAndAnAsk(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	run := createRun(ctx, t, ns, func(r *v1alpha1.MotorRun) { r.Spec.Budget = cost("1") })
	wantRefused(t, mergePatch(ctx, run.DeepCopy(), `{"spec":{"budget":{"cost":"2"}}}`), "spec.budget", "budget never changes")
	const raise = `[{"op":"add","path":"/spec/responses/-","value":{"id":"budget-run-1","decision":"Raise","budget":{"cost":"1"}}}]`
	wantRefused(t, jsonPatch(ctx, run.DeepCopy(), raise), "", "the run asks nothing now")
	before := run.DeepCopy()
	run.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "budget-run-1", Kind: v1alpha1.InputBudgetExhausted, RaiseBy: cost("1")})
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(before)))
	for name, value := range map[string]string{
		"without an amount":      `{"id":"budget-run-1","decision":"Raise"}`,
		"with an empty amount":   `{"id":"budget-run-1","decision":"Raise","budget":{}}`,
		"an amount to stop":      `{"id":"budget-run-1","decision":"Stop","budget":{"cost":"1"}}`,
		"an amount as an answer": `{"id":"budget-run-1","answer":"yes","budget":{"cost":"1"}}`,
	} {
		if err := jsonPatch(ctx, run.DeepCopy(), `[{"op":"add","path":"/spec/responses/-","value":`+value+`}]`); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	patch := client.RawPatch(types.JSONPatchType, []byte(raise))
	wantRefused(t, person(ctx, t, ns, "ruth@"+ns, responder).Patch(ctx, run.DeepCopy(), patch), "approve")
	must(t, person(ctx, t, ns, "anna@"+ns, approver).Patch(ctx, run.DeepCopy(), patch))
}
