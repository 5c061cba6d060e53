// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// hasEnded lets through a run that has just finished.
func hasEnded() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.MotorRun)
			after, also := e.ObjectNew.(*v1alpha1.MotorRun)
			return ok && also && !isFinished(before) && isFinished(after)
		},
	}
}

func isFinished(run *v1alpha1.MotorRun) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished)
}

func isAccepted(run *v1alpha1.MotorRun) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionAccepted)
}
