// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// KeepOf returns which part of the run's workspace is retained. A review of a skill changes nothing.
func KeepOf(run *v1alpha1.MotorRun) v1alpha1.RunKeep {
	switch keep := cmp.Or(run.Spec.Keep, v1alpha1.KeepChanges); {
	case !HasModel(run):
		return v1alpha1.KeepNothing
	case run.Spec.SkillReview && keep == v1alpha1.KeepChanges:
		return v1alpha1.KeepArtifacts
	default:
		return keep
	}
}
