// SPDX-License-Identifier: Apache-2.0

// Package cortex reports in the status of each MotorCortex whether the services that it names are available: its models, its search provider and
// the archive. It also reports how much the runs of the namespace keep in the cluster. No run depends on that report.
//
//	spec changed, or time to look again ──► check each service ──► report ──► one status patch, if anything changed
package cortex

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/text"
)

// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorcortices,verbs=get;list;watch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=motorcortices/status,verbs=patch

const (
	// readyPause is the interval between checks of a MotorCortex with everything available, missingPause if a service is missing.
	readyPause, missingPause = 5 * time.Minute, time.Minute
	// maxConcurrent bounds how many are checked at the same time. Each may wait for three services that do not answer, 10 s each.
	maxConcurrent = 8
)

// Models finds the model endpoints of a namespace, and the key of its search provider. A *cortex.Problem as error names the configuration that is
// missing.
type Models interface {
	ResolveMotor(ctx context.Context, namespace string) (cortex.Endpoint, error)
	ResolveFast(ctx context.Context, namespace string) (cortex.Endpoint, error)
	SearchKey(ctx context.Context, namespace string, p *v1alpha1.SearchProvider) (secret.Value, error)
}

// Services are asked whether they are available, in requests that cost nothing.
type Services struct {
	// Model reports whether the endpoint lists the model. Its error is a *Unavailable, or the context's.
	Model func(ctx context.Context, e cortex.Endpoint) (listed bool, err error)
	// Search fails with a sentence for a person.
	Search func(ctx context.Context, p *v1alpha1.SearchProvider, key secret.Value) error
	// Archive reports whether the bucket can be listed. It is nil where the manager has none. Why it cannot is for the installation alone.
	Archive func(ctx context.Context) bool
}

// Unavailable is why a model cannot be had.
type Unavailable struct {
	// Reason is a reason of the condition ModelAvailable, Message a sentence or two for a person.
	Reason, Message string
}

func (u *Unavailable) Error() string { return u.Message }

// Reconciler maintains the status of each MotorCortex.
type Reconciler struct {
	client.Client
	Recorder events.EventRecorder
	Models   Models
	Services Services
	// Storage knows what runs keep in the cluster. Nil: it is not shown.
	Storage Storage
	// Room requests a pass when the use of a namespace comes close to its bound, or leaves it. It may be nil.
	Room source.Source
}

// SetupWithManager registers the reconciler. Like every controller it runs in the leader only.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr)
	if r.Room != nil {
		b = b.WatchesRawSource(r.Room)
	}
	return b.
		Named("motorcortex").
		For(&v1alpha1.MotorCortex{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: maxConcurrent,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, readyPause),
		}).
		Complete(r)
}

// Reconcile checks one MotorCortex.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1alpha1.MotorCortex{}
	if err := r.Get(ctx, req.NamespacedName, c); err != nil {
		return pass.Retry(), client.IgnoreNotFound(err)
	}
	if !c.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := c.DeepCopy()
	found, err := r.check(ctx, c)
	if err != nil {
		return pass.Retry(), err
	}
	report(&c.Status, c.Generation, found)
	if c.Spec.Budget == nil {
		// To take spec.budget away is how a person clears sums that are wrong.
		c.Status.Budget = nil
	}
	text.ShowAll(&c.Status)
	if !equality.Semantic.DeepEqual(before.Status, c.Status) {
		// With the lock, a report on an earlier spec cannot stand in the place of one on the present spec.
		err := r.Status().Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			return pass.Again(pass.ConflictPause), nil
		}
		if err != nil {
			return pass.Retry(), client.IgnoreNotFound(err)
		}
		r.tell(before, c)
	}
	if apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.CortexReady) {
		return pass.Again(readyPause), nil
	}
	return pass.Again(missingPause), nil
}

// tell records an Event when the MotorCortex became ready or ceased to be, and when storage becomes low.
func (r *Reconciler) tell(before, now *v1alpha1.MotorCortex) {
	r.tellStorage(before, now)
	was, is := apimeta.FindStatusCondition(before.Status.Conditions, v1alpha1.CortexReady), apimeta.FindStatusCondition(now.Status.Conditions, v1alpha1.CortexReady)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if !apimeta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.CortexReady) {
		kind = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(now, nil, kind, is.Reason, "CheckServices", "%s", is.Message)
}

// maxModel is the most bytes of a model's name in the status. The manager's own is bounded by nothing else.
const maxModel = 256

// check asks each service that is configured, and sets in the status the model of the namespace. It returns an error if a service could not be
// checked because the API server did not answer.
func (r *Reconciler) check(ctx context.Context, c *v1alpha1.MotorCortex) ([]finding, error) {
	motor, err := r.Models.ResolveMotor(ctx, c.Namespace)
	c.Status.Model = text.CutBytes(motor.Model, maxModel)
	model, err := r.checkModels(ctx, c.Namespace, motor, err)
	if err != nil {
		return nil, err
	}
	found := []finding{model}
	if p := c.Spec.Search; p != nil {
		search, err := r.checkSearch(ctx, c.Namespace, p)
		if err != nil {
			return nil, err
		}
		found = append(found, search)
	}
	if r.Services.Archive != nil {
		found = append(found, r.checkArchive(ctx))
	}
	if r.Storage != nil {
		found = append(found, r.checkStorage(c))
	}
	return found, ctx.Err()
}

// checkModels checks the model of the loop, and the model of hints if that is another one. err is what Models returned with motor.
func (r *Reconciler) checkModels(ctx context.Context, namespace string, motor cortex.Endpoint, err error) (finding, error) {
	found, err := r.checkModel(ctx, motor, err)
	if err != nil || !found.ok {
		return found, err
	}
	fast, err := r.Models.ResolveFast(ctx, namespace)
	if err == nil && fast.Same(motor) {
		return found, nil
	}
	hints, err := r.checkModel(ctx, fast, err)
	if err != nil || hints.ok && hints.reason == v1alpha1.ReasonCortexAvailable {
		return found, err
	}
	hints.message = "Of the model for hints (spec.models.fast): " + hints.message
	return hints, nil
}

func (r *Reconciler) checkModel(ctx context.Context, e cortex.Endpoint, err error) (finding, error) {
	found := finding{condition: v1alpha1.CortexModelAvailable}
	if p, ok := cortex.AsProblem(err); ok {
		found.reason, found.message = p.Reason, p.Message
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("find the model: %w", err)
	}
	listed, err := r.Services.Model(ctx, e)
	if u, ok := errors.AsType[*Unavailable](err); ok {
		found.reason, found.message = u.Reason, u.Message
		return found, nil
	}
	if err != nil {
		return found, err
	}
	found.ok, found.reason, found.message = true, v1alpha1.ReasonCortexAvailable, fmt.Sprintf("The endpoint of the model %q answers.", e.Model)
	if !listed {
		found.reason = v1alpha1.ReasonModelNotListed
		found.message = fmt.Sprintf("The endpoint answers, and its list of models does not have %q. Check the name, unless the endpoint serves names that it does not list.", e.Model)
	}
	return found, nil
}

func (r *Reconciler) checkSearch(ctx context.Context, namespace string, p *v1alpha1.SearchProvider) (finding, error) {
	found := finding{condition: v1alpha1.CortexSearchReady}
	key, err := r.Models.SearchKey(ctx, namespace, p)
	if problem, ok := cortex.AsProblem(err); ok {
		found.reason, found.message = problem.Reason, problem.Message
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("find the key of the search provider: %w", err)
	}
	if err := r.Services.Search(ctx, p, key); err != nil {
		found.reason, found.message = v1alpha1.ReasonSearchUnavailable, err.Error()
		return found, ctx.Err()
	}
	found.ok, found.reason, found.message = true, v1alpha1.ReasonCortexAvailable, "The search provider can be asked."
	return found, nil
}

func (r *Reconciler) checkArchive(ctx context.Context) finding {
	if r.Services.Archive(ctx) {
		return finding{v1alpha1.CortexArchiveReady, true, v1alpha1.ReasonCortexAvailable, "The archive's bucket can be listed."}
	}
	return finding{
		v1alpha1.CortexArchiveReady, false, v1alpha1.ReasonArchiveUnavailable,
		"The archive's bucket cannot be listed. Runs go on, and are archived when it can be written. The manager's log says why.",
	}
}
