// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func bound(raiseBy *v1alpha1.BudgetAmount) v1alpha1.PendingInput {
	return v1alpha1.PendingInput{ID: "budget-run-1", Kind: v1alpha1.InputBudgetExhausted, Question: "The run has spent 1 EUR.", RaiseBy: raiseBy}
}

func TestARaiseHasTheAmountOfTheFlags(t *testing.T) {
	t.Parallel()
	r := newRig(t, bound(&v1alpha1.BudgetAmount{Cost: new(v1alpha1.Amount("1"))}))
	for _, line := range []string{"raise run", "raise run --cost 1,5", "raise run --cost -1", "raise run --cost 1e9", "raise run --tokens -5", "raise run --cost 0.0000000001"} {
		r.want(verb.ExitMisused, line)
	}
	if got := r.responses(); got != "" {
		t.Fatalf("sent is %q", got)
	}
	r.want(0, "raise run --cost 0.5 --tokens 1000", "may spend 0.5 and 1000 tokens more")
	if got := r.responses(); got != "budget-run-1 Raise" {
		t.Errorf("sent is %q", got)
	}
}

// At a terminal the amount that the run proposes counts after a yes.
func TestARaiseWithoutAnAmountIsAskedAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t, bound(&v1alpha1.BudgetAmount{Cost: new(v1alpha1.Amount("1"))}))
	r.typed = "n\n"
	r.want(1, "raise run", "The run has spent 1 EUR.", "Raise it by 1?", "nothing was sent")
	r.typed = "y\n"
	r.want(0, "raise run", "may spend 1 more")
	if got := r.responses(); got != "budget-run-1 Raise" {
		t.Errorf("sent is %q", got)
	}
}

func TestARunIsStoppedAtItsBound(t *testing.T) {
	t.Parallel()
	r := newRig(t, bound(nil))
	r.want(0, "stop run --reason enough", "stopped")
	if got := r.responses(); got != "budget-run-1 Stop" {
		t.Errorf("sent is %q", got)
	}
}
