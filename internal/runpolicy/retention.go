// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"cmp"
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// keepSucceeded and keepFailed are for runs and namespaces that set nothing themselves. People ask later about a run that failed.
	keepSucceeded = 24 * time.Hour
	keepFailed    = 7 * 24 * time.Hour
	// keepOneshot is for a Oneshot run, however it ended: it was waited for, and there may be many.
	keepOneshot = 10 * time.Minute
	// keepInstall is for a run that installs packages. The packages are stored apart from it, and after a failure it is how long no new run tries
	// again.
	keepInstall = time.Hour
	// ArchiveWait is how long a run waits for its archive unless the installation sets another time: an archive may be broken for good.
	ArchiveWait = time.Hour
)

// Archiving reports whether the steps of finished runs are archived before these are deleted. Without an archive it is the zero value.
type Archiving struct {
	// Wait is how long a finished run is retained until its steps are in the archive. After that it is deleted without an archive.
	Wait time.Duration
	// Required retains a run until its steps are in the archive, however long that takes.
	Required bool
}

// RemoveAt returns when a finished run is to be deleted, zero if that is not known. runs are those of its namespace.
func RemoveAt(run *v1alpha1.MotorRun, keep v1alpha1.Retention, runs []v1alpha1.MotorRun, archiving Archiving) time.Time {
	least := KeptUntil(run, archiving)
	if least.IsZero() {
		return time.Time{}
	}
	if slices.ContainsFunc(Surplus(keep, runs), func(r *v1alpha1.MotorRun) bool { return r.UID == run.UID }) {
		return least
	}
	at := finishedAt(run).Add(kept(run, keep))
	if at.Before(least) {
		at = least
	}
	return at
}

// KeptUntil returns the instant before which a finished run is not deleted, even if it exceeds the number that is retained: it may wait for its
// archive. It is zero if that is not known.
func KeptUntil(run *v1alpha1.MotorRun, archiving Archiving) time.Time {
	finished := finishedAt(run)
	switch {
	case finished.IsZero(), archiving.Required && run.Status.Archive == nil:
		return time.Time{}
	case run.Status.Archive == nil:
		return finished.Add(archiving.Wait)
	}
	return finished
}

// NeededBy returns the name of a run of the namespace that has not ended and uses an artifact of this one, "" if there is none. Until that run has
// ended, another sandbox may need the artifact again.
func NeededBy(run *v1alpha1.MotorRun, runs []v1alpha1.MotorRun) string {
	for i := range runs {
		r := &runs[i]
		if hasFinished(r) || !r.DeletionTimestamp.IsZero() {
			continue
		}
		if usesArtifact(r, run.Name) {
			return r.Name
		}
	}
	return ""
}

// usesArtifact reports whether a file of the run, or of an answer to it, is an artifact of the other one.
func usesArtifact(run *v1alpha1.MotorRun, other string) bool {
	of := func(ref *v1alpha1.ArtifactRef) bool { return ref != nil && ref.RunName == other }
	return slices.ContainsFunc(run.Spec.Files, func(f v1alpha1.InputFile) bool { return of(f.ArtifactRef) }) ||
		slices.ContainsFunc(run.Spec.Responses, func(r v1alpha1.Response) bool {
			return slices.ContainsFunc(r.Files, func(f v1alpha1.ResponseFile) bool { return of(f.ArtifactRef) })
		})
}

// Surplus returns the finished runs beyond the number that is retained: all but the newest. Runs without a model do not count, so that many of them
// displace no other run; their time is over soon.
func Surplus(keep v1alpha1.Retention, runs []v1alpha1.MotorRun) []*v1alpha1.MotorRun {
	var succeeded, failed []*v1alpha1.MotorRun
	for i := range runs {
		r := &runs[i]
		switch {
		case !hasFinished(r), !r.DeletionTimestamp.IsZero(), !HasModel(r):
		case has(r, v1alpha1.ConditionSucceeded):
			succeeded = append(succeeded, r)
		default:
			failed = append(failed, r)
		}
	}
	return append(beyond(keep.MaxSucceeded, succeeded), beyond(keep.MaxFailed, failed)...)
}

func beyond(limit *int32, runs []*v1alpha1.MotorRun) []*v1alpha1.MotorRun {
	if limit == nil || len(runs) <= int(*limit) {
		return nil
	}
	slices.SortFunc(runs, func(a, b *v1alpha1.MotorRun) int {
		return cmp.Or(finishedAt(b).Compare(finishedAt(a)), cmp.Compare(a.Name, b.Name))
	})
	return runs[*limit:]
}

// kept returns how long the run is retained after its end.
func kept(run *v1alpha1.MotorRun, keep v1alpha1.Retention) time.Duration {
	seconds, otherwise := keep.FailedSeconds, keepFailed
	if has(run, v1alpha1.ConditionSucceeded) {
		seconds, otherwise = keep.SucceededSeconds, keepSucceeded
	}
	switch run.Spec.Mode {
	case v1alpha1.ModeOneshot:
		otherwise = keepOneshot
	case v1alpha1.ModeInstall:
		// The namespace sets how long people look at the results of their runs, and this run is none of theirs.
		seconds, otherwise = nil, keepInstall
	case v1alpha1.ModeAgentic:
	}
	if own := run.Spec.TTLSecondsAfterFinished; own != nil {
		seconds = own
	}
	if seconds == nil {
		return otherwise
	}
	return time.Duration(*seconds) * time.Second
}

func finishedAt(run *v1alpha1.MotorRun) time.Time {
	if run.Status.CompletionTime == nil {
		return time.Time{}
	}
	return run.Status.CompletionTime.Time
}
