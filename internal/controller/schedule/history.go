// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/schedule"
)

// Defaults of the kind. The API server sets them, but for objects that are older than the fields.
const (
	keptSuccessful = 3
	keptFailed     = 1
)

// tidy deletes the oldest finished runs beyond the limits of the history. The status must be stored by then: it keeps a run until it has its start.
func (r *Reconciler) tidy(ctx context.Context, s *look) error {
	spec := &s.schedule.Spec
	over := beyond(s.runs, int(ptr.Deref(spec.SuccessfulRunsHistoryLimit, keptSuccessful)), int(ptr.Deref(spec.FailedRunsHistoryLimit, keptFailed)))
	if len(over) == 0 {
		return nil
	}
	all, err := pass.RunsOf(ctx, r.Client, s.schedule.Namespace)
	if err != nil {
		return err
	}
	for _, run := range over {
		switch until := runpolicy.KeptUntil(run, r.Archiving); {
		case !schedule.Records(s.schedule, run.Name):
			// The start would take place again.
			continue
		case until.IsZero():
			// The archive must have it first. The next pass looks again.
			continue
		case until.After(s.Now):
			s.Wake(until)
			continue
		case runpolicy.NeededBy(run, all) != "":
			// Its artifacts would be deleted with it.
			s.Wake(s.Now.Add(pass.MaxPause))
			continue
		}
		// The version protects a run that a client has just changed.
		uid, version := run.UID, run.ResourceVersion
		err := r.Delete(ctx, run, client.Preconditions{UID: &uid, ResourceVersion: &version}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete a run beyond the history of the schedule: %w", err)
		}
	}
	return nil
}

// beyond returns the finished runs beyond the limits, the oldest first.
func beyond(runs []*v1alpha1.MotorRun, successful, failed int) []*v1alpha1.MotorRun {
	var good, bad []*v1alpha1.MotorRun
	for _, run := range runs {
		switch {
		case !pass.IsFinished(run) || !run.DeletionTimestamp.IsZero():
		case succeeded(run):
			good = append(good, run)
		default:
			bad = append(bad, run)
		}
	}
	over := append(oldest(good, successful), oldest(bad, failed)...)
	slices.SortFunc(over, byEnd)
	return over
}

// oldest returns all but the newest of the runs.
func oldest(runs []*v1alpha1.MotorRun, kept int) []*v1alpha1.MotorRun {
	slices.SortFunc(runs, byEnd)
	return runs[:max(0, len(runs)-kept)]
}

func byEnd(a, b *v1alpha1.MotorRun) int {
	return cmp.Or(endOf(a).Compare(endOf(b).Time), cmp.Compare(a.Name, b.Name))
}

func endOf(run *v1alpha1.MotorRun) metav1.Time {
	if run.Status.CompletionTime != nil {
		return *run.Status.CompletionTime
	}
	return run.CreationTimestamp
}
