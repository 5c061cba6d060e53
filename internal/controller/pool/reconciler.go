// SPDX-License-Identifier: Apache-2.0

// Package pool keeps the sandboxes of SandboxPools: it makes them, proves that they are closed, replaces them, and gives each to one run.
//
//	pool, its Pods, its MotorCortex, a run without room ──► plan ──► remove, make, try ──► one status patch
//	run without a sandbox ──► Take ──► the Pod belongs to the run
package pool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/isolation"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// +kubebuilder:rbac:groups=motorcortex.dev,resources=sandboxpools,verbs=get;list;watch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=sandboxpools/status,verbs=patch
// +kubebuilder:rbac:groups=motorcortex.dev,resources=sandboxpools/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch

const (
	// maxConcurrent bounds how many pools are looked at at the same time.
	maxConcurrent = 4
	// unseen is how long a sandbox counts that was made and that the cache does not show.
	unseen = 30 * time.Second
	// changedMessage is about a cluster that changes what the pool makes, by a webhook for example.
	changedMessage = "The cluster changes the sandboxes of the pool when they are made, so no run could take one. Exempt them from the webhook or " +
		"policy that changes them."
	// suffixBytes is the length of the random part of a Pod's name.
	suffixBytes = 6
)

// Closer maintains the policy that closes the sandboxes of a namespace. It returns the identity of the policy, "" if the namespace is not closed, and
// why the API server refuses the policy, "" if it does not. In a namespace that is in use the passes of its runs maintain the policy, and the closer
// only reads it.
type Closer interface {
	CloseNamespace(ctx context.Context, namespace string, inUse bool) (identity, refused string, err error)
}

// Config is the configuration of pools from the manager's flags.
type Config struct {
	// Sandbox is the configuration of sandboxes, without UserNamespaces.
	Sandbox sandbox.Config
	// Forbidden are addresses that no sandbox may reach. Those of its node are added for each.
	Forbidden []toolapi.ProbeTarget
	// StartTimeout is how long a sandbox may take to run, IsolationTimeout how long it may take after that to be closed.
	StartTimeout, IsolationTimeout time.Duration
	// AllowUnenforced offers sandboxes that are not closed.
	AllowUnenforced bool
	// WithoutNodes is true if the manager may not read nodes.
	WithoutNodes bool
	// ShowPause is how long the status may wait to show that runs have taken some of the sandboxes of a pool. An empty pool, a full one, and one that
	// cannot be filled are shown at once. 0 shows everything at once.
	ShowPause time.Duration
}

// Reconciler keeps pools.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live     client.Reader
	Recorder events.EventRecorder
	Closer   Closer
	// Connect returns a connection with the tool server of a Pod that runs.
	Connect func(pod *corev1.Pod) (Prober, error)
	Config  Config
	// Now is the API's clock, which is set now and then. Local is the process's own, by which the reconciler measures time; nil: Now.
	Now, Local func() time.Time

	memory  memory
	indexes bool
}

// own returns the time by the process's own clock.
func (r *Reconciler) own() time.Time {
	if r.Local != nil {
		return r.Local()
	}
	return r.Now()
}

// indexGoing is the index of the cache that has the runs which have not ended. A namespace can have a hundred thousand that have.
const indexGoing = "going"

// SetupWithManager registers the reconciler. Like every controller it runs in the leader only.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.MotorRun{}, indexGoing, func(o client.Object) []string {
		if run, ok := o.(*v1alpha1.MotorRun); ok && !pass.IsFinished(run) {
			return []string{"true"}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index runs by %q: %w", indexGoing, err)
	}
	r.indexes = true
	inNamespace := handler.EnqueueRequestsFromMapFunc(r.poolsBeside)
	return ctrl.NewControllerManagedBy(mgr).
		Named("sandboxpool").
		For(&v1alpha1.SandboxPool{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.Pod{}).
		Watches(&v1alpha1.MotorCortex{}, inNamespace, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.MotorRun{}, inNamespace, builder.WithPredicates(roomChanges())).
		Watches(&networkingv1.NetworkPolicy{}, inNamespace, builder.WithPredicates(predicate.NewPredicateFuncs(isBaseline))).
		WithOptions(pass.Options(maxConcurrent)).
		Complete(r)
}

func isBaseline(o client.Object) bool { return o.GetName() == sandbox.BaselineName }

// poolsBeside requests a pass over each pool in the namespace of an object.
func (r *Reconciler) poolsBeside(ctx context.Context, o client.Object) []reconcile.Request {
	var pools v1alpha1.SandboxPoolList
	if err := r.List(ctx, &pools, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the pools beside an object", "namespace", o.GetNamespace())
		return nil
	}
	var requests []reconcile.Request
	for i := range pools.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pools.Items[i])})
	}
	return requests
}

// Reconcile brings one pool a step further and writes its status once.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pool := &v1alpha1.SandboxPool{}
	err := r.Get(ctx, req.NamespacedName, pool)
	if client.IgnoreNotFound(err) != nil {
		return pass.Retry(), err
	}
	if apierrors.IsNotFound(err) || !pool.DeletionTimestamp.IsZero() {
		// Its Pods are deleted with it.
		r.memory.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	s := &look{Pass: pass.Pass{Now: r.Now()}, before: pool.DeepCopy(), pool: pool}
	if err := r.keep(ctx, s); err != nil {
		return pass.Retry(), err
	}
	err = r.writeStatus(ctx, s)
	if apierrors.IsConflict(err) {
		return pass.Again(pass.ConflictPause), nil
	}
	if err != nil {
		return pass.Retry(), err
	}
	return s.Result(), nil
}

// look is one pass over one pool.
type look struct {
	pass.Pass
	before, pool *v1alpha1.SandboxPool
	pods         []*corev1.Pod
	// inUse is true if a run of the namespace has a sandbox.
	inUse bool
}

func replicasOf(pool *v1alpha1.SandboxPool) int32 { return ptr.Deref(pool.Spec.Replicas, 1) }

// keep removes, makes and tries the sandboxes of a pool, and sets its status.
func (r *Reconciler) keep(ctx context.Context, s *look) error {
	if err := r.observe(ctx, s); err != nil {
		return err
	}
	replicas, idle, err := r.wanted(ctx, s)
	if err != nil {
		return err
	}
	if replicas == 0 && len(s.pods) == 0 {
		r.show(s, plan{}, idle)
		return nil
	}
	baseline, unclosed, err := r.close(ctx, s)
	if err != nil {
		return err
	}
	if unclosed != nil {
		idle, replicas = unclosed, 0
	}
	cfg, err := pass.SandboxConfig(ctx, r.Client, r.Config.Sandbox, r.Config.WithoutNodes)
	if err != nil {
		return err
	}
	if replicas > 0 && baseline != "" {
		s.wakeIn(r.prove(ctx, s.key(), s.pods, baseline))
	}
	halted, left := r.memory.halted(s.key(), r.own())
	hidden, shown := r.memory.unseen(s.key(), s.has, r.own())
	p := planFor(r.members(ctx, s, cfg, baseline), wish{
		replicas: replicas, unseen: hidden, maxAge: time.Duration(s.pool.Spec.MaxAgeSeconds) * time.Second,
		startTimeout: r.Config.StartTimeout, proveTimeout: r.Config.IsolationTimeout,
		quiet: r.memory.quietFor(s.key(), r.own()), paused: halted != nil || baseline == "",
	}, s.Now)
	s.Wake(p.wake)
	s.wakeIn(left)
	s.wakeIn(shown)
	if err := r.remove(ctx, p.remove); err != nil {
		return err
	}
	if halted == nil {
		halted = p.failed
	}
	if refused, err := r.make(ctx, s, &p, cfg); err != nil {
		return err
	} else if refused != nil {
		halted = refused
	}
	if halted != nil && left == 0 {
		r.memory.halt(s.key(), *halted, r.own().Add(refusedPause))
		s.wakeIn(refusedPause)
	}
	if idle == nil {
		idle = cmp.Or(halted, r.memory.refused(s.key(), r.own()))
	}
	r.show(s, p, idle)
	return nil
}

// unclosedTimes is how many looks in a row may find no closing policy that is as it must be, before the pool says so and waits longer.
const unclosedTimes = 5

// close returns the identity of the policy that closes the namespace, "" if there is none yet, and why the pool gives up its sandboxes meanwhile, nil if
// it does not. It believes the cache about a policy that it has seen past the cache.
func (r *Reconciler) close(ctx context.Context, s *look) (string, *failure, error) {
	policy := &networkingv1.NetworkPolicy{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.pool.Namespace, Name: sandbox.BaselineName}, policy)
	if cached := isolation.Identity(policy); err == nil && r.memory.closed(s.key(), cached) {
		return cached, nil, nil
	}
	baseline, refused, err := r.Closer.CloseNamespace(ctx, s.pool.Namespace, s.inUse)
	if err != nil {
		return "", nil, err
	}
	unclosed := r.memory.closedBy(s.key(), baseline)
	switch {
	case refused != "":
		s.wakeIn(pass.MaxPause)
		return "", &failure{v1alpha1.ReasonBaselineRefused, refused}, nil
	case unclosed > unclosedTimes:
		s.wakeIn(pass.MaxPause)
		return "", &failure{v1alpha1.ReasonBaselineRefused, fmt.Sprintf(
			"The NetworkPolicy %s does not stay as the manager writes it, so no sandbox is made. Find out what changes it.", sandbox.BaselineName)}, nil
	case baseline == "":
		s.wakeIn(time.Second)
	}
	return baseline, nil, nil
}

// wakeIn asks for another pass after a time, if it is more than 0.
func (s *look) wakeIn(d time.Duration) {
	if d > 0 {
		s.Wake(s.Now.Add(d))
	}
}

// observe finds the sandboxes of the pool that no run has taken and that are not being deleted.
func (r *Reconciler) observe(ctx context.Context, s *look) error {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(s.pool.Namespace), client.MatchingLabels(sandbox.PoolLabels(s.pool.Name))); err != nil {
		return fmt.Errorf("list the sandboxes of the pool: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if ref, ok := sandbox.PoolOf(pod); ok && ref.UID == s.pool.UID && pod.DeletionTimestamp == nil {
			s.pods = append(s.pods, pod)
		}
	}
	r.memory.retain(s.key(), s.has)
	return nil
}

// key is the name by which this process knows the pool.
func (s *look) key() types.NamespacedName { return client.ObjectKeyFromObject(s.pool) }

// has reports whether the pool has a sandbox, as the pass sees it.
func (s *look) has(pod types.UID) bool {
	return slices.ContainsFunc(s.pods, func(p *corev1.Pod) bool { return p.UID == pod })
}

// wanted returns how many sandboxes the pool is to have now, and why it has fewer than its spec says.
func (r *Reconciler) wanted(ctx context.Context, s *look) (int, *failure, error) {
	pool := s.pool
	c, err := cortex.Get(ctx, r.Client, pool.Namespace)
	if err != nil {
		return 0, nil, err
	}
	if c.Spec.Sandbox == nil || !slices.Contains(c.Spec.Sandbox.Pools, pool.Name) {
		return 0, &failure{v1alpha1.ReasonPoolUnused, "No run can take a sandbox from the pool: the MotorCortex \"default\" of the namespace does not name it in spec.sandbox.pools."}, nil
	}
	var runs v1alpha1.MotorRunList
	opts := []client.ListOption{client.InNamespace(pool.Namespace), client.UnsafeDisableDeepCopy}
	if r.indexes {
		opts = append(opts, client.MatchingFields{indexGoing: "true"})
	}
	if err := r.List(ctx, &runs, opts...); err != nil {
		return 0, nil, fmt.Errorf("list runs: %w", err)
	}
	var yield *failure
	for i := range runs.Items {
		run := &runs.Items[i]
		// A run that is being deleted has no passes that would maintain the policy.
		s.inUse = s.inUse || run.Status.Sandbox != nil && !pass.IsFinished(run) && run.DeletionTimestamp.IsZero()
		if yield == nil && lacksRoom(run) {
			yield = &failure{v1alpha1.ReasonPoolYielding, fmt.Sprintf(
				"The run %s has no room for its sandbox, so the pool gives up its own, one after the other, until it has.", run.Name)}
		}
	}
	if yield != nil {
		if len(s.pods) > 0 {
			s.wakeIn(yieldPause)
		}
		return max(0, len(s.pods)-1), yield, nil
	}
	return int(replicasOf(pool)), nil, nil
}

// yieldPause is the pause in which a run without room may find that it has some.
const yieldPause = 2 * time.Second

// lacksRoom reports whether a run has no room for its sandbox, and waits for nothing else.
func lacksRoom(run *v1alpha1.MotorRun) bool {
	return runpolicy.LacksRoom(run) && run.DeletionTimestamp.IsZero() && !run.Spec.Suspend && run.Status.Pending() == nil
}

// roomChanges selects runs that lack room for their sandboxes, and those that do not any more.
func roomChanges() predicate.Predicate {
	lacks := func(o client.Object) bool { run, ok := o.(*v1alpha1.MotorRun); return ok && lacksRoom(run) }
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return lacks(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return lacks(e.ObjectOld) != lacks(e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return lacks(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// members returns the sandboxes of the pool as the pass sees them.
func (r *Reconciler) members(ctx context.Context, s *look, cfg sandbox.Config, baseline string) []member {
	want := sandbox.Pooled(s.pool, "", cfg)
	var all []member
	for _, pod := range s.pods {
		all = append(all, member{
			pod: pod, state: sandbox.Read(pod), current: sandbox.Fits(pod, want),
			standing: r.memory.look(pod.UID, baseline, r.own()), cordoned: r.cordoned(ctx, pod),
		})
	}
	return all
}

func (r *Reconciler) remove(ctx context.Context, pods []*corev1.Pod) error {
	for _, pod := range pods {
		// Of this version alone: a run may be taking it.
		version := pod.ResourceVersion
		err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete a sandbox of the pool: %w", err)
		}
	}
	return nil
}

// make makes the sandboxes of the plan. It returns a failure if the API server refuses one.
func (r *Reconciler) make(ctx context.Context, s *look, p *plan, cfg sandbox.Config) (*failure, error) {
	for range p.create {
		want := sandbox.Pooled(s.pool, rand.String(suffixBytes), cfg)
		pod := want.DeepCopy()
		err := r.Create(ctx, pod)
		switch {
		case apierrors.IsAlreadyExists(err):
			s.Wake(s.Now)
			return nil, nil
		case objects.Refused(err):
			return &failure{v1alpha1.ReasonSandboxRefused, fmt.Sprintf("The API server refused a sandbox of the pool: %v", err)}, nil
		case err != nil:
			return nil, fmt.Errorf("make a sandbox of the pool: %w", err)
		case !sandbox.Fits(pod, want):
			// It would not be as the pool makes it, and be replaced for ever.
			return &failure{v1alpha1.ReasonPoolChanged, changedMessage}, client.IgnoreNotFound(objects.Delete(ctx, r.Client, pod))
		}
		p.total++
		// It may be gone before the cache shows it: then no watch wakes the pool.
		s.wakeIn(unseen)
		r.memory.note(s.key(), pod.UID, r.own().Add(unseen))
	}
	return nil, nil
}

// show sets the status of the pool. A failure is why it has fewer sandboxes than its spec says.
func (r *Reconciler) show(s *look, p plan, f *failure) {
	st := &s.pool.Status
	st.ObservedGeneration, st.Selector = s.pool.Generation, labels.FormatLabels(sandbox.PoolLabels(s.pool.Name))
	st.Replicas, st.ReadyReplicas = int32(p.total), int32(p.ready)
	status, why := verdict(s.pool, p, f)
	s.SetCondition(&st.Conditions, s.pool.Generation, v1alpha1.PoolReady, status, why.reason, why.message)
}

// behindPause is the pause after a pass that did not see the last write of the status. A pass has done all its work by then.
const behindPause = 500 * time.Millisecond

func (r *Reconciler) writeStatus(ctx context.Context, s *look) error {
	if r.memory.isBehind(s.key(), s.before.ResourceVersion, r.own()) {
		// The pass cannot know what the status shows, and no change of it triggers another one.
		s.wakeIn(behindPause)
		return nil
	}
	if equality.Semantic.DeepEqual(s.before.Status, s.pool.Status) {
		r.memory.shows(s.key(), "", r.own())
		return nil
	}
	if r.Config.ShowPause > 0 && onlyFills(&s.before.Status, &s.pool.Status) {
		if wait := r.memory.waits(s.key(), r.Config.ShowPause, r.own()); wait > 0 {
			s.wakeIn(wait)
			return nil
		}
	}
	err := r.Status().Patch(ctx, s.pool, client.MergeFromWithOptions(s.before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if s.pool.ResourceVersion != s.before.ResourceVersion {
		r.memory.shows(s.key(), s.before.ResourceVersion, r.own())
	}
	was, is := apimeta.FindStatusCondition(s.before.Status.Conditions, v1alpha1.PoolReady), apimeta.FindStatusCondition(s.pool.Status.Conditions, v1alpha1.PoolReady)
	if is == nil || is.Reason == v1alpha1.ReasonPoolFull || is.Reason == v1alpha1.ReasonPoolFilling || was != nil && was.Reason == is.Reason {
		return nil // A pool that fills does so all the time.
	}
	r.Recorder.Eventf(s.pool, nil, corev1.EventTypeWarning, is.Reason, "KeepSandboxes", "%s", is.Message)
	return nil
}
