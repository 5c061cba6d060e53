// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// behindFor bounds how long a cache may take to show a write. After it the version may be a later one with the same name, as after a restore of etcd.
const behindFor = 5 * time.Second

// Writes is the memory of this process about what it has written of runs, their statuses and their Pods. The zero value is that of a process that has
// written nothing. All instants are those of the process's own clock.
type Writes struct{ runs RunCache[write] }

// write is the last write of a status.
type write struct {
	// replaced is the version that it changed, "" for none.
	replaced string
	at       time.Time
	// ended is when the end of the run was first found in its journal.
	ended time.Time
	// deleted is when Pods of the run were deleted, by their UIDs.
	deleted map[types.UID]time.Time
}

// Note records that the status of a run was written: before as it was read, after as it is stored.
func (w *Writes) Note(before, after *v1alpha1.MotorRun, now time.Time) {
	last := w.runs.Of(after)
	last.at, last.replaced = now, ""
	if before.ResourceVersion != after.ResourceVersion {
		// A write that changes nothing leaves the version, and the cache never shows another one.
		last.replaced = before.ResourceVersion
	}
}

// Wait returns how long it is until a status that only shows something is written again: once in each pause at most.
func (w *Writes) Wait(run *v1alpha1.MotorRun, pause time.Duration, now time.Time) time.Duration {
	last := w.runs.Of(run)
	if last.at.IsZero() {
		return 0
	}
	return max(0, min(pause, last.at.Add(pause).Sub(now)))
}

// EndsIn returns for how long an end that the journal records is not written as one that is under way, 0 when that is over.
func (w *Writes) EndsIn(run *v1alpha1.MotorRun, pause time.Duration, now time.Time) time.Duration {
	last := w.runs.Of(run)
	if last.ended.IsZero() {
		last.ended = now
	}
	return max(0, min(pause, last.ended.Add(pause).Sub(now)))
}

// IsBehind reports whether a run that was read from the cache is the version that this process has replaced since. What a pass wrote from it would be
// refused as a conflict, and what it did before could be done a second time.
func (w *Writes) IsBehind(run *v1alpha1.MotorRun, now time.Time) bool {
	last := w.runs.Of(run)
	return last.replaced != "" && last.replaced == run.ResourceVersion && now.Sub(last.at) < behindFor
}

// NoteDeleted records that a Pod of a run was deleted.
func (w *Writes) NoteDeleted(run *v1alpha1.MotorRun, pod types.UID, now time.Time) {
	last := w.runs.Of(run)
	if last.deleted == nil {
		last.deleted = map[types.UID]time.Time{}
	}
	last.deleted[pod] = now
}

// HasDeleted reports whether this process has deleted a Pod of a run just now, so that the cache may still show it as before.
func (w *Writes) HasDeleted(run *v1alpha1.MotorRun, pod types.UID, now time.Time) bool {
	at, ok := w.runs.Of(run).deleted[pod]
	return ok && now.Sub(at) < behindFor
}

// Forget forgets a run.
func (w *Writes) Forget(run *v1alpha1.MotorRun) { w.runs.Forget(run.UID) }

// ForgetGone forgets the runs of a name that are gone.
func (w *Writes) ForgetGone(key types.NamespacedName) { w.runs.ForgetGone(key) }
