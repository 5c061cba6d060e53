// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/schedule"
)

// retire deletes a finished run when its time is over, when there are enough newer ones, or to make room. Its Pod and steps go with it.
func (r *Reconciler) retire(ctx context.Context, s *pass.Run) error {
	// This is checked before the lists: while the bucket is away, many runs wait for their archives, and each of them comes here.
	if least := runpolicy.KeptUntil(s.Run, r.archiving()); least.IsZero() || !r.passed(s, least) {
		return nil
	}
	due, err := r.isDue(ctx, s)
	early := false
	if err == nil && !due {
		early, err = r.Budget.Early(ctx, s.Run)
	}
	if err != nil || !due && !early {
		return err
	}
	if needed, err := r.isNeeded(ctx, s.Run); err != nil || needed {
		// The end of another run does not wake this one, and no client waits for the deletion.
		s.Wake(s.Now.Add(pass.MaxPause))
		return err
	}
	// The entry of a run that is gone would be settled without what its status says.
	if err := r.Energy.Settle(ctx, s.Run); err != nil {
		return err
	}
	// The precondition on the version protects a run whose retention a client has just extended.
	uid, version := s.Run.UID, s.Run.ResourceVersion
	err = r.Delete(ctx, s.Run, client.Preconditions{UID: &uid, ResourceVersion: &version}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the run after its end: %w", err)
	}
	if err == nil && r.Config.Archive && s.Run.Status.Archive == nil {
		r.tellUnarchived(ctx, s.Run)
	}
	if err == nil && early {
		r.tellEarly(s.Run)
	}
	return nil
}

// isNeeded reports whether another run uses an artifact of this one, which would be deleted with it, or its schedule has yet to record its start.
func (r *Reconciler) isNeeded(ctx context.Context, run *v1alpha1.MotorRun) (bool, error) {
	runs, err := r.indexed(ctx, run.Namespace, indexNeeds, []string{run.Name})
	if err != nil || runpolicy.NeededBy(run, runs) != "" {
		return true, err
	}
	recorded, err := r.isRecorded(ctx, run)
	return !recorded, err
}

// isRecorded reports whether the schedule of a run knows that its start took place, or the run is of none. Until then the run is the only record of the
// start: were it deleted, the manager would begin the same one again.
func (r *Reconciler) isRecorded(ctx context.Context, run *v1alpha1.MotorRun) (bool, error) {
	// Only the manager writes the label. Any client could take the owner away.
	name := run.Labels[v1alpha1.LabelSchedule]
	if name == "" {
		return true, nil
	}
	of := &v1alpha1.MotorSchedule{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, of)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the schedule of the run: %w", err)
	}
	return schedule.Records(of, run.Name), nil
}

// isDue reports whether the time of a finished run is over, or there are enough newer ones.
func (r *Reconciler) isDue(ctx context.Context, s *pass.Run) (bool, error) {
	c, err := cortex.Get(ctx, r.Client, s.Run.Namespace)
	if err != nil {
		return false, err
	}
	keep := c.Spec.Retention
	var runs []v1alpha1.MotorRun
	if keep.MaxSucceeded != nil || keep.MaxFailed != nil {
		if runs, err = r.indexed(ctx, s.Run.Namespace, indexEnd, endOf(s.Run)); err != nil {
			return false, err
		}
	}
	at := runpolicy.RemoveAt(s.Run, keep, runs, r.archiving())
	return !at.IsZero() && r.passed(s, at), nil
}

// passed reports whether the instant has passed at which a finished run is checked. If not, it requests a pass then.
func (r *Reconciler) passed(s *pass.Run, at time.Time) bool {
	var o observed.Time
	if r.Time != nil {
		// While no manager was there, people could not look at the run either.
		o = r.Time.Observed()
		at = o.Extend(s.Run.Status.CompletionTime.Time, at)
	}
	wait := o.Wait(at, s.Now)
	if wait > 0 {
		s.Wake(s.Now.Add(wait))
	}
	return wait == 0
}

func (r *Reconciler) archiving() runpolicy.Archiving {
	if !r.Config.Archive {
		return runpolicy.Archiving{}
	}
	return runpolicy.Archiving{Wait: cmp.Or(r.Config.ArchiveWait, runpolicy.ArchiveWait), Required: r.Config.ArchiveRequired}
}

// The events of a run that was deleted with its steps before they were archived, and of one that was deleted before its time to make room.
const (
	reasonUnarchived = "DeletedUnarchived"
	reasonEarly      = "DeletedEarly"
	actionDelete     = "Archive"
)

// tellEarly reports where to find a run that is gone sooner than its retention says.
func (r *Reconciler) tellEarly(run *v1alpha1.MotorRun) {
	r.Recorder.Eventf(run, nil, corev1.EventTypeNormal, reasonEarly, actionDelete, "The run was deleted before its time, because the runs of the "+
		"namespace keep nearly all that spec.retention.maxStorage of the MotorCortex allows. Its steps are in the archive, as %s.", run.Status.Archive.Key)
}

// tellUnarchived reports the loss of a record: the event and the log for people, the counter for an alert.
func (r *Reconciler) tellUnarchived(ctx context.Context, run *v1alpha1.MotorRun) {
	const note = "The run was deleted with its steps although they are not in the archive: they could not be archived in the time that it was kept. " +
		"Look at the bucket and at the events ArchiveFailed. With --archive-required such runs are kept."
	r.Recorder.Eventf(run, nil, corev1.EventTypeWarning, reasonUnarchived, actionDelete, "%s", note)
	ctrl.LoggerFrom(ctx).Error(nil, "a finished run was deleted with its steps before they were archived",
		"namespace", run.Namespace, "run", run.Name, "steps", run.Status.Steps)
	if r.Config.Unarchived != nil {
		r.Config.Unarchived.Inc()
	}
}

// surplus maps a run that has finished to those that are now beyond the number that is retained. It reads only the runs that count for the same
// bound, however many runs the namespace has: those that are retained, those that are to be deleted, and those that wait for their archives. A run
// that waits for its archive is left out: its archive, or the end of the time for that, triggers its pass.
func (r *Reconciler) surplus(ctx context.Context, o client.Object) []reconcile.Request {
	run, ok := o.(*v1alpha1.MotorRun)
	if !ok {
		return nil
	}
	return r.chosenAmong(ctx, o, func(c *v1alpha1.MotorCortex) ([]v1alpha1.MotorRun, error) {
		if keep := c.Spec.Retention; keep.MaxSucceeded == nil && keep.MaxFailed == nil {
			return nil, nil
		}
		return r.indexed(ctx, run.Namespace, indexEnd, endOf(run))
	}, func(c *v1alpha1.MotorCortex, runs []v1alpha1.MotorRun) []*v1alpha1.MotorRun {
		surplus, now, archiving := runpolicy.Surplus(c.Spec.Retention, runs), r.apiNow(), r.archiving()
		return slices.DeleteFunc(surplus, func(run *v1alpha1.MotorRun) bool {
			least := runpolicy.KeptUntil(run, archiving)
			return least.IsZero() || least.After(now)
		})
	})
}
