// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Early returns the runs that are deleted before their time because room is low: as many of the oldest finished ones as it takes to have the use below
// Low. Only runs whose steps are in the archive are among them, and none whose artifacts a run needs that has not ended. runs are all runs of the
// namespace.
func Early(runs []v1alpha1.MotorRun, used, bound int64) []*v1alpha1.MotorRun {
	if LevelOf(used, bound) < Low {
		return nil
	}
	over := used - low(bound)
	needed := map[string]bool{}
	var archived []*v1alpha1.MotorRun
	for i := range runs {
		run := &runs[i]
		finished := apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished)
		switch {
		case !run.DeletionTimestamp.IsZero():
			// It is counted until it is gone.
			over -= Of(run)
		case !finished:
			for _, f := range run.Spec.Files {
				if f.ArtifactRef != nil {
					needed[f.ArtifactRef.RunName] = true
				}
			}
		case run.Status.Archive != nil && run.Status.CompletionTime != nil:
			archived = append(archived, run)
		}
	}
	archived = slices.DeleteFunc(archived, func(run *v1alpha1.MotorRun) bool { return needed[run.Name] })
	slices.SortFunc(archived, func(a, b *v1alpha1.MotorRun) int {
		return cmp.Or(a.Status.CompletionTime.Compare(b.Status.CompletionTime.Time), cmp.Compare(a.Name, b.Name))
	})
	n := 0
	for ; n < len(archived) && over >= 0; n++ {
		over -= Of(archived[n])
	}
	return archived[:n]
}
