// SPDX-License-Identifier: Apache-2.0

// Package schedule has runs begin when their MotorSchedules say so.
//
//	schedule, its runs ──► observe ──► prepare the run ──► decide ──► settle: start or skip ──► one status patch ──► Events ──► tidy
//
// A run has a name that follows from its start, so creating it is a compare-and-swap: a leader that lost its Lease, or one that was killed before it
// wrote the status, begins no second one. Until the status has the start, the run is the only record of it. So no run is deleted before, neither here
// nor when its retention ends.
package schedule

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/credential"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorschedules,verbs=get;list;watch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorschedules/status,verbs=patch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorschedules/finalizers,verbs=update
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorruntemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorruns,verbs=get;list;watch;create;delete

const (
	// maxConcurrent bounds how many schedules are looked at at the same time.
	maxConcurrent = 4
	// longest is the most time between two passes over a schedule that waits for its next start. A timer goes on evenly while the clock is set, so a start
	// could be late by as much as the clock was set forward.
	longest = time.Hour
)

// Reconciler has the runs of schedules begin.
type Reconciler struct {
	// Client is the manager's, with its cache: runs are read from it.
	client.Client
	// Live reads past the cache. A start is decided on by the schedule as it is now: by an old copy it could take place twice, or after it was suspended.
	Live client.Reader
	// Reviews asks the API server what the requester of a schedule may do.
	Reviews  credential.Reviewer
	Recorder events.EventRecorder
	// Archiving says which finished runs wait for the archive before they are deleted.
	Archiving runpolicy.Archiving
	// Now is the clock that starts go by.
	Now func() time.Time

	templates usedTemplates
}

// SetupWithManager registers the reconciler. Like every controller it runs in the leader only.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("motorschedule").
		// The cache has names alone: a pass reads the schedule itself, and templates can be large.
		For(&v1alpha1.MotorSchedule{}, builder.OnlyMetadata, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.MotorRunTemplate{}, handler.EnqueueRequestsFromMapFunc(r.templates.schedulesOf), builder.OnlyMetadata,
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.MotorRun{}, handler.EnqueueRequestsFromMapFunc(scheduleOfRun), builder.WithPredicates(runIsOver())).
		WithOptions(pass.Options(maxConcurrent)).
		Complete(r)
}

// scheduleOfRun requests a pass over the schedule of a run. Any client can write an owner, but only the manager the label.
func scheduleOfRun(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[v1alpha1.LabelSchedule]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
}

// runIsOver selects runs that have just ended, are being deleted or are gone.
func runIsOver() predicate.Predicate {
	over := func(o client.Object) bool {
		run, ok := o.(*v1alpha1.MotorRun)
		return ok && !isActive(run)
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return !over(e.ObjectOld) && over(e.ObjectNew) },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// Reconcile brings one schedule a step further and writes its status once.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	now := &v1alpha1.MotorSchedule{}
	err := r.Live.Get(ctx, req.NamespacedName, now)
	if client.IgnoreNotFound(err) != nil {
		return pass.Retry(), fmt.Errorf("read the schedule: %w", err)
	}
	if apierrors.IsNotFound(err) || !now.DeletionTimestamp.IsZero() {
		// Its runs are deleted with it.
		r.templates.note(req.NamespacedName, nil)
		return ctrl.Result{}, nil
	}
	r.templates.note(req.NamespacedName, now.Spec.RunTemplateRef)
	s := &look{Pass: pass.Pass{Now: r.Now()}, before: now.DeepCopy(), schedule: now}
	if err := r.look(ctx, s); err != nil {
		return pass.Retry(), err
	}
	err = r.writeStatus(ctx, s)
	if apierrors.IsConflict(err) {
		return pass.Again(pass.ConflictPause), nil
	}
	if err != nil {
		return pass.Retry(), err
	}
	if err := r.tidy(ctx, s); err != nil {
		return pass.Retry(), err
	}
	return s.Result(), nil
}

// look is one pass over one schedule.
func (r *Reconciler) look(ctx context.Context, s *look) error {
	if err := r.observe(ctx, s); err != nil {
		return err
	}
	if err := r.prepare(ctx, s); err != nil {
		return err
	}
	if s.decide() {
		if err := r.settle(ctx, s); err != nil {
			return err
		}
	}
	s.show()
	return nil
}

// writeStatus writes the status, if it changed, and tells the transitions.
func (r *Reconciler) writeStatus(ctx context.Context, s *look) error {
	if !equality.Semantic.DeepEqual(s.before.Status, s.schedule.Status) {
		err := r.patchStatus(ctx, s)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("write the status of the schedule: %w", err)
		}
	}
	pass.Tell(r.Recorder, s.schedule, s.transitions())
	return nil
}

// patchStatus writes the status over the one that the pass began with. A change of anything else in between is no conflict: who may only annotate a
// schedule could otherwise keep its starts from being recorded.
func (r *Reconciler) patchStatus(ctx context.Context, s *look) error {
	written := s.schedule.DeepCopy()
	err := r.Status().Patch(ctx, written, client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		now := &v1alpha1.MotorSchedule{}
		if failed := r.Live.Get(ctx, client.ObjectKeyFromObject(s.schedule), now); failed != nil {
			return failed
		}
		if now.UID != s.before.UID || !equality.Semantic.DeepEqual(now.Status, s.before.Status) {
			return err
		}
		// Without the lock, so that no further change comes in between either. Only the leader writes the status.
		written = s.schedule.DeepCopy()
		err = r.Status().Patch(ctx, written, client.MergeFrom(s.before))
	}
	if err != nil {
		return err
	}
	s.schedule = written
	return nil
}
