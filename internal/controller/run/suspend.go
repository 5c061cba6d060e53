// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// suspend prevents a run that was not accepted from beginning while its spec is suspended. A run that has begun retains what it has: its engine
// stops without help, and no new object is created for it.
func (r *Reconciler) suspend(_ context.Context, s *pass.Run) (bool, error) {
	if s.Run.Spec.Suspend {
		// A person who resumes the run has it tried again.
		s.Run.Status.Losses = nil
		s.Set(v1alpha1.ConditionSuspended, metav1.ConditionTrue, v1alpha1.ReasonSuspended, suspendedMessage(s.Run))
		return pass.IsAccepted(s.Run), nil
	}
	if apimeta.IsStatusConditionTrue(s.Run.Status.Conditions, v1alpha1.ConditionSuspended) {
		s.Set(v1alpha1.ConditionSuspended, metav1.ConditionFalse, v1alpha1.ReasonResumed, "The run goes on.")
	}
	return true, nil
}

func suspendedMessage(run *v1alpha1.MotorRun) string {
	by := ""
	if who := run.Spec.SuspendedBy; who != "" {
		by = ", by " + fit.Title(who)
	}
	return "The run is suspended" + by + ". It goes on when spec.suspend is taken back."
}
