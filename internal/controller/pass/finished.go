// SPDX-License-Identifier: Apache-2.0

package pass

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// HasEnded selects a run that has just finished.
func HasEnded() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.MotorRun)
			after, also := e.ObjectNew.(*v1alpha1.MotorRun)
			return ok && also && !IsFinished(before) && IsFinished(after)
		},
	}
}

// IsFinished reports whether the run has ended.
func IsFinished(run *v1alpha1.MotorRun) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished)
}

// IsAccepted reports whether the run was admitted. It stays so.
func IsAccepted(run *v1alpha1.MotorRun) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionAccepted)
}
