// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/text"
)

// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorsteps,verbs=delete

const (
	// ArchiveDelay lets every worker that may still write a step of the run stop: one that lost its Lease knows it after
	// 10 s, and its loops have a few seconds to end.
	ArchiveDelay = 15 * time.Second
	// archiveTimeout ends a try, so that a bucket that hangs cannot keep the others waiting.
	archiveTimeout = 2 * time.Minute
	// archivePage is how many steps are read at a time: each has up to 256 KiB.
	archivePage = 16
)

// The events of archiving.
const (
	reasonArchived      = "Archived"
	reasonArchiveFailed = "ArchiveFailed"
	actionArchive       = "Archive"
)

// Archive keeps the steps of finished runs.
type Archive interface {
	// Write stores what fill writes, all of it or nothing, and fails with archive.ErrExists if there is something already.
	// An error of fill is given back as it is.
	Write(ctx context.Context, key string, fill func(io.Writer) error) error
	// Read fails with archive.ErrNotFound if there is nothing under the key.
	Read(ctx context.Context, key string) (io.ReadCloser, error)
}

// ArchiveReconciler moves the steps of finished runs into the archive. It is no step of the MotorRunReconciler, so that
// a bucket that is slow or away delays nothing else.
//
// Of the status it writes the field archive and nothing else, once; the MotorRunReconciler writes everything else and never
// this. Both send only what they changed, and only if nobody wrote since they read.
type ArchiveReconciler struct {
	client.Client
	// Live reads past the cache, which holds only the heads of runs and steps.
	Live     client.Reader
	Recorder events.EventRecorder
	Archive  Archive
	Now      func() time.Time

	// failing has the runs whose archive failed, and why, for telling of it once and not at each try. It is lost with the
	// process, which then tells of it once more.
	failing sync.Map
}

// SetupWithManager registers the reconciler. Like every controller it runs in the leader only.
func (r *ArchiveReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("archive").
		For(&v1alpha1.MotorRun{}, builder.WithPredicates(predicate.Funcs{
			// At the start all runs come by: one may have been left between its archive and the deletion of its steps.
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
	return ok && pass.IsFinished(run) && run.Status.FinishedAt != nil && run.DeletionTimestamp.IsZero()
}

func archived(o client.Object) bool {
	run, ok := o.(*v1alpha1.MotorRun)
	return ok && run.Status.Archive != nil
}

// Reconcile archives one run, or goes on where a former try ended.
//
//	finished ──► object in the bucket ──► read back and compared ──► status.archive ──► steps deleted
func (r *ArchiveReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.MotorRun{}
	if err := r.Get(ctx, req.NamespacedName, run); err != nil || !archivable(run) {
		r.failing.Delete(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait := run.Status.FinishedAt.Add(ArchiveDelay).Sub(r.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	var err error
	if archived(run) {
		err = r.resume(ctx, run)
	} else {
		err = r.archive(ctx, run)
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: pass.ConflictPause}, nil
	}
	r.tell(run, err)
	return ctrl.Result{}, err
}

// archive stores the run's steps, notes where, and deletes them.
func (r *ArchiveReconciler) archive(ctx context.Context, cached *v1alpha1.MotorRun) error {
	run := &v1alpha1.MotorRun{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(cached), run); err != nil {
		return client.IgnoreNotFound(err)
	}
	switch {
	case run.UID != cached.UID || !archivable(run):
		// The cache is behind, and what it misses comes by.
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

// resume deletes what an archive has and the cluster still has too.
func (r *ArchiveReconciler) resume(ctx context.Context, run *v1alpha1.MotorRun) error {
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

// store writes the archive and says what is in it. It believes what it reads back and not what it wrote: the steps are
// deleted for it. What a former try wrote is taken as it is, if it is the same, and nothing is ever written over.
func (r *ArchiveReconciler) store(ctx context.Context, key string, run *v1alpha1.MotorRun) (archive.Manifest, error) {
	steps, err := r.steps(ctx, run)
	if err != nil {
		return archive.Manifest{}, err
	}
	var want archive.Manifest
	var unread error
	err = r.Archive.Write(ctx, key, func(out io.Writer) (err error) {
		want, err = r.fill(ctx, out, run, steps, &unread)
		return err
	})
	if unread != nil && ctx.Err() == nil {
		return archive.Manifest{}, unread
	}
	if err != nil && !errors.Is(err, archive.ErrExists) {
		return archive.Manifest{}, &archiveError{err}
	}
	found, err := r.read(ctx, key, "")
	if err != nil {
		return archive.Manifest{}, err
	}
	if err := want.Same(&found); err != nil {
		return archive.Manifest{}, &archiveError{fmt.Errorf("%s: %w; look at it and move it away", key, err)}
	}
	return found, nil
}

// fill writes the chain, one step in memory at a time. What goes wrong with the cluster and not with the archive is
// noted in unread.
func (r *ArchiveReconciler) fill(ctx context.Context, out io.Writer, run *v1alpha1.MotorRun, steps []stepRef, unread *error) (archive.Manifest, error) {
	w, err := archive.NewWriter(out, run)
	if err != nil {
		return archive.Manifest{}, err
	}
	for _, ref := range steps {
		var step v1alpha1.MotorStep
		if *unread = r.Live.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: ref.name}, &step); *unread != nil {
			return archive.Manifest{}, *unread
		}
		if err := w.Step(&step); err != nil {
			return archive.Manifest{}, err
		}
	}
	return w.Close()
}

func (r *ArchiveReconciler) read(ctx context.Context, key, head string) (archive.Manifest, error) {
	in, err := r.Archive.Read(ctx, key)
	if err != nil {
		return archive.Manifest{}, &archiveError{err}
	}
	defer in.Close()
	m, err := archive.Read(in, head)
	if err != nil {
		return archive.Manifest{}, &archiveError{fmt.Errorf("%s: %w", key, err)}
	}
	return m, nil
}

// prune deletes the steps whose very bytes the archive has. One that somebody wrote since, and one that came after it,
// stay until the run goes.
func (r *ArchiveReconciler) prune(ctx context.Context, run *v1alpha1.MotorRun, held archive.Manifest) error {
	return r.eachStep(ctx, run, func(step *v1alpha1.MotorStep) error {
		digest, err := archive.StepDigest(step)
		if err != nil || held.Steps[step.Name] != digest {
			return err
		}
		err = r.Delete(ctx, step, client.Preconditions{UID: &step.UID, ResourceVersion: &step.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete step %s: %w", step.Name, err)
		}
		return nil
	})
}

// stepRef is a step that is not kept in memory.
type stepRef struct {
	name           string
	attempt, index int32
}

// steps gives the run's steps in the order of attempt and index.
func (r *ArchiveReconciler) steps(ctx context.Context, run *v1alpha1.MotorRun) ([]stepRef, error) {
	var refs []stepRef
	err := r.eachStep(ctx, run, func(s *v1alpha1.MotorStep) error {
		refs = append(refs, stepRef{s.Name, s.Spec.Attempt, s.Spec.Index})
		return nil
	})
	slices.SortFunc(refs, func(a, b stepRef) int {
		return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.index, b.index), cmp.Compare(a.name, b.name))
	})
	return refs, err
}

// eachStep reads the run's steps live, a page at a time, because all of them can take more memory than the manager has.
func (r *ArchiveReconciler) eachStep(ctx context.Context, run *v1alpha1.MotorRun, do func(*v1alpha1.MotorStep) error) error {
	for token := ""; ; {
		var page v1alpha1.MotorStepList
		if err := r.Live.List(ctx, &page, append(stepsOf(run), client.Limit(archivePage), client.Continue(token))...); err != nil {
			return fmt.Errorf("list steps: %w", err)
		}
		own := journal.Of(run, page.Items)
		for i := range own {
			if err := do(&own[i]); err != nil {
				return err
			}
		}
		if token = page.Continue; token == "" {
			return nil
		}
	}
}

func stepsOf(run *v1alpha1.MotorRun) []client.ListOption {
	return []client.ListOption{client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}}
}

// archiveError is an error of the archive, and not of the API server.
type archiveError struct{ error }

func (e *archiveError) Unwrap() error { return e.error }

// tell makes an event when the archive of a run begins to fail, or fails in another way. Errors of the API server
// pass by themselves, and who could not reach it cannot tell either. A manager that stops ends its tries too.
func (r *ArchiveReconciler) tell(run *v1alpha1.MotorRun, err error) {
	key := client.ObjectKeyFromObject(run)
	if err == nil {
		r.failing.Delete(key)
		return
	}
	var problem *archiveError
	if !errors.As(err, &problem) || errors.Is(err, context.Canceled) {
		return
	}
	what := archiveProblem(err)
	if was, told := r.failing.Swap(key, what); told && was == what {
		return
	}
	r.event(run, corev1.EventTypeWarning, reasonArchiveFailed,
		fmt.Sprintf("The run's steps stay in the cluster, because archiving them failed: %v. It is tried again.", problem))
}

// event tells of an archive. What the bucket says of a problem are its own words, and a person reads them on a terminal.
func (r *ArchiveReconciler) event(run *v1alpha1.MotorRun, kind, reason, note string) {
	r.Recorder.Eventf(run, nil, kind, reason, actionArchive, "%s", runpolicy.CutEncoded(text.Printable(note), pass.MaxNote))
}

// archiveProblem tells problems apart whose messages change from try to try.
func archiveProblem(err error) string {
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
