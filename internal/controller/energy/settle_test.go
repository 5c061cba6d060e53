// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestARunIsSettledBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, tenth(), interceptor.Funcs{})
	run := r.run("a")
	s, _ := r.drain(run)
	r.becomes(run, func(run *v1alpha1.MotorRun) { run.Status.Energy = s.Run.Status.Energy },
		condition(v1alpha1.ConditionAccepted), condition(v1alpha1.ConditionFinished), steps(7))
	for range 2 {
		r.must(r.Settle(t.Context(), run))
		if st := r.wantLevel("0.88", 0, 1); st.Recent[0].Consumed != "0.12" {
			t.Errorf("it cost %s", st.Recent[0].Consumed)
		}
	}
}

func TestARunWithoutEnergyIsNotLookedUp(t *testing.T) {
	t.Parallel()
	var none *Ledger
	if err := errors.Join(none.Settle(t.Context(), &v1alpha1.MotorRun{}), (&Ledger{}).Settle(t.Context(), &v1alpha1.MotorRun{})); err != nil {
		t.Error(err)
	}
}
