// SPDX-License-Identifier: Apache-2.0

package archiver

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/text"
)

// The events of archiving.
const (
	reasonArchived      = "Archived"
	reasonArchiveFailed = "ArchiveFailed"
	actionArchive       = "Archive"
)

// archiveError is an error of the archive, and not of the API server.
type archiveError struct{ error }

func (e *archiveError) Unwrap() error { return e.error }

// tell records an event when the archive of a run begins to fail, or fails in another way. Errors of the API server are transient, and a manager
// that cannot reach it cannot record an event either. A manager that stops ends its tries too.
func (r *Reconciler) tell(run *v1alpha1.MotorRun, err error) {
	key := client.ObjectKeyFromObject(run)
	if err == nil {
		r.failing.Delete(key)
		return
	}
	var problem *archiveError
	if !errors.As(err, &problem) || errors.Is(err, context.Canceled) {
		return
	}
	what := problemOf(err)
	if was, told := r.failing.Swap(key, what); told && was == what {
		return
	}
	r.event(run, corev1.EventTypeWarning, reasonArchiveFailed,
		fmt.Sprintf("The run's steps stay in the cluster, because archiving them failed: %v. It is tried again.", problem))
}

// event records an event about an archive. The bucket words its problems itself, and a person reads them on a terminal.
func (r *Reconciler) event(run *v1alpha1.MotorRun, kind, reason, note string) {
	r.Recorder.Eventf(run, nil, kind, reason, actionArchive, "%s", fit.CutEncoded(text.Printable(note), pass.MaxNote))
}

// problemOf distinguishes problems whose messages change from try to try.
func problemOf(err error) string {
	var broken *archive.BrokenLink
	switch {
	case errors.Is(err, archive.ErrDifferent):
		return "different"
	case errors.As(err, &broken):
		return "broken"
	case errors.Is(err, archive.ErrNotFound):
		return "missing"
	}
	return "unavailable"
}
