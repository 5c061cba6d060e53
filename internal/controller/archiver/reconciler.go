// SPDX-License-Identifier: Apache-2.0

// Package archiver moves the steps of finished runs into the archive, and deletes them when the archive has them.
package archiver

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/journal"
)

// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorsteps,verbs=delete

const (
	// Delay is the time in which every worker that may still write a step of the run stops. A worker that lost its Lease knows it after 10 s, and its
	// loops have a few seconds to end.
	Delay = 15 * time.Second
	// timeout ends a try, so that a bucket that hangs cannot delay the others.
	timeout = 2 * time.Minute
	// stepsPage is the number of steps that are read at a time: each has up to 256 KiB.
	stepsPage = 16
)

// Archive stores the steps of finished runs.
type Archive interface {
	// Write stores the output of fill, all of it or nothing, and returns archive.ErrExists if the object exists already. It returns an error of fill
	// unchanged.
	Write(ctx context.Context, key string, fill func(io.Writer) error) error
	// Read returns archive.ErrNotFound if there is no object under the key.
	Read(ctx context.Context, key string) (io.ReadCloser, error)
}

// Reconciler moves the steps of finished runs into the archive. It is separate from the reconciler of runs, so that a bucket that is slow or away
// delays nothing else.
//
// It writes the field archive of the status and nothing else, once. The reconciler of runs writes everything else and never this field. Both send
// only their changes, and a write of another since they read is a conflict.
type Reconciler struct {
	client.Client
	// Live reads past the cache, which holds only the heads of runs and steps.
	Live     client.Reader
	Recorder events.EventRecorder
	Archive  Archive
	Now      func() time.Time

	// failing has the runs whose archive failed, and why, so that the failure is reported once and not at each try. It is lost with the process. The
	// next process reports the failure once more.
	failing sync.Map
}

// SetupWithManager registers the reconciler. Like every controller it runs in the leader only.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("archive").
		For(&v1alpha1.MotorRun{}, builder.WithPredicates(predicate.Funcs{
			// At the start every run is reconciled: the former process may have ended between its archive and the deletion of its steps.
			CreateFunc:  func(e event.CreateEvent) bool { return archivable(e.Object) },
			UpdateFunc:  func(e event.UpdateEvent) bool { return archivable(e.ObjectNew) && !archived(e.ObjectNew) },
			DeleteFunc:  func(event.DeleteEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
		})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 2,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Second, 5*time.Minute),
		}).
		Complete(r)
}

func archivable(o client.Object) bool {
	run, ok := o.(*v1alpha1.MotorRun)
	return ok && pass.IsFinished(run) && run.Status.CompletionTime != nil && run.DeletionTimestamp.IsZero()
}

func archived(o client.Object) bool {
	run, ok := o.(*v1alpha1.MotorRun)
	return ok && run.Status.Archive != nil
}

// Reconcile archives one run, or goes on where a former try ended.
//
//	finished ──► object in the bucket ──► read back and compared ──► status.archive ──► steps deleted
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.MotorRun{}
	if err := r.Get(ctx, req.NamespacedName, run); err != nil || !archivable(run) {
		r.failing.Delete(req.NamespacedName)
		return pass.Retry(), client.IgnoreNotFound(err)
	}
	if wait := run.Status.CompletionTime.Add(Delay).Sub(r.Now()); wait > 0 {
		return pass.Again(wait), nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var err error
	if archived(run) {
		err = r.resume(ctx, run)
	} else {
		err = r.archive(ctx, run)
	}
	if apierrors.IsConflict(err) {
		return pass.Again(pass.ConflictPause), nil
	}
	r.tell(run, err)
	return pass.Retry(), err
}

// archive stores the run's steps, notes where, and deletes them.
func (r *Reconciler) archive(ctx context.Context, cached *v1alpha1.MotorRun) error {
	run := &v1alpha1.MotorRun{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), run); err != nil {
		return client.IgnoreNotFound(err)
	}
	switch {
	case run.UID != cached.UID || !archivable(run):
		// The cache is behind, and its next update triggers another pass.
		return nil
	case archived(run):
		return r.resume(ctx, run)
	}
	key := archive.Key(run)
	manifest, err := r.store(ctx, key, run)
	if err != nil {
		return err
	}
	base := run.DeepCopy()
	run.Status.Archive = &v1alpha1.ArchiveStatus{Key: key, Steps: int32(len(manifest.Steps)), Head: manifest.Head}
	if err := r.Status().Patch(ctx, run, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.event(run, corev1.EventTypeNormal, reasonArchived, fmt.Sprintf("The run's %d steps are in the archive, as %s.", len(manifest.Steps), key))
	return r.prune(ctx, run, manifest)
}

// resume deletes the steps in the cluster that the archive has.
func (r *Reconciler) resume(ctx context.Context, run *v1alpha1.MotorRun) error {
	var heads v1alpha1.MotorStepList
	if err := r.List(ctx, &heads, stepsOf(run)...); err != nil {
		return fmt.Errorf("list steps: %w", err)
	}
	if len(journal.Of(run, heads.Items)) == 0 {
		return nil
	}
	manifest, err := r.read(ctx, run.Status.Archive.Key, run.Status.Archive.Head)
	if err != nil {
		return err
	}
	return r.prune(ctx, run, manifest)
}
