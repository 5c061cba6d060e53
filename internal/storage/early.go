// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// earlyAge is how long ago a run must have ended before it makes room: people still look at a run that has just ended.
	earlyAge = time.Hour
	// deletionTime is how long a run that is deleted may take to be gone. One that takes longer has a finalizer that is not ours, and may stay for ever.
	deletionTime = time.Minute
)

// Early returns the runs that are deleted before their time because room is low: as many of the oldest finished ones as it takes to have the use below
// Low. Only runs of which nothing would be lost are among them: they are in the archive, no step of theirs is left in the cluster, and no artifact,
// which the archive does not have. They ended an hour ago or longer. A run that another one needs is not among them until that one has ended. Below
// Full there are none if all of them together would leave the use at Low: that would cost runs, and change nothing. runs are all runs of the
// namespace. hasSteps reports whether a run of that name has steps in the cluster.
func Early(runs []v1alpha1.MotorRun, hasSteps func(run string) bool, used, bound int64, now time.Time) []*v1alpha1.MotorRun {
	level := LevelOf(used, bound)
	if level < Low {
		return nil
	}
	over := used - low(bound)
	needed := map[string]bool{}
	var archived []*v1alpha1.MotorRun
	for i := range runs {
		run := &runs[i]
		switch {
		case !run.DeletionTimestamp.IsZero():
			// It is counted until it is gone.
			if now.Sub(run.DeletionTimestamp.Time) <= deletionTime {
				over -= Of(run)
			}
		case !has(run, v1alpha1.ConditionFinished):
			for _, f := range run.Spec.Files {
				if f.ArtifactRef != nil {
					needed[f.ArtifactRef.RunName] = true
				}
			}
		case isElsewhere(run) && !hasSteps(run.Name) && now.Sub(run.Status.CompletionTime.Time) >= earlyAge:
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
	if over >= 0 && level < Full {
		return nil
	}
	return archived[:n]
}

// isElsewhere reports whether the archive, or its bucket, has all that a finished run leaves.
func isElsewhere(run *v1alpha1.MotorRun) bool {
	st := &run.Status
	return st.Archive != nil && st.CompletionTime != nil && (st.Result == nil || !slices.ContainsFunc(st.Result.Artifacts, func(a v1alpha1.Artifact) bool {
		return a.ConfigMapName != ""
	}))
}
