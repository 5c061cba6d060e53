// SPDX-License-Identifier: Apache-2.0

// Package run converges the objects of a run: its NetworkPolicy, its sandbox Pod, its worker and its status. It makes no model call and no tool
// call. The engine's results reach it through the journal alone. So the status of a run is derived from spec, journal and Pod, and can be derived
// again at any time.
package run

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/budget"
	"motorcortex.dev/motorcortex/internal/controller/energy"
	"motorcortex.dev/motorcortex/internal/controller/grant"
	"motorcortex.dev/motorcortex/internal/controller/isolation"
	"motorcortex.dev/motorcortex/internal/controller/network"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/controller/placement"
	"motorcortex.dev/motorcortex/internal/controller/pool"
	"motorcortex.dev/motorcortex/internal/controller/queue"
	"motorcortex.dev/motorcortex/internal/controller/sweep"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/recent"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Config is the reconciler's configuration from the manager's flags.
type Config struct {
	Sandbox sandbox.Config
	// SandboxStartTimeout bounds the time until a sandbox Pod runs. After it the run fails.
	SandboxStartTimeout time.Duration
	// MaxConcurrent is the number of runs that are reconciled at the same time.
	MaxConcurrent int
	// EgressKey is the key from which the tokens and handles of sandboxes are derived. The engine has the same.
	EgressKey []byte
	// EgressService is the Service of the egress proxy in Sandbox.Namespace.
	EgressService string
	// ForbiddenCIDRs are networks that no sandbox may reach through the egress proxy, in addition to the cluster's own networks that the manager
	// finds.
	ForbiddenCIDRs []netip.Prefix
	// CiliumPolicies is true if a CiliumNetworkPolicy is written for each run with domains.
	CiliumPolicies bool
	// WithoutNodes is true if the manager may not read nodes, so that no sandbox gets a user namespace of its own.
	WithoutNodes bool
	// Archive is true if there is a bucket. Then the steps of a finished run are archived before the run is deleted, and artifacts may be in the
	// bucket.
	Archive bool
	// ArchiveRequired retains finished runs until their steps are archived, however long that takes.
	ArchiveRequired bool
	// ArchiveWait is how long a finished run waits for its archive where none is required, 0 for an hour.
	ArchiveWait time.Duration
	// ShowPause is how long the status of a run may wait to show how far the run got. All by which a program decides is written at once. 0 writes
	// everything at once.
	ShowPause time.Duration
	// TrialPause is the least time between two runs that are carried on alone, 0 for 30 s.
	TrialPause time.Duration
	// ShowReplicas is called with the number of live replicas of each version, when that changes; "unknown" is for those whose Lease has no version. A nil ShowReplicas
	// is not called.
	ShowReplicas func(byVersion map[string]int)
	// Unarchived counts the runs that were deleted before their steps were archived. Nil counts nothing.
	Unarchived Counter
}

// Counter counts events for a monitoring system.
type Counter interface{ Inc() }

// Observer is told what becomes of runs, for a monitoring system. Its methods must return at once.
type Observer interface {
	// RunEnded is told of a run that has ended, when its status says so: the reason of the condition Succeeded, and how long ago the run was created.
	RunEnded(reason string, succeeded bool, took time.Duration)
	// PoolAdopted is told of a sandbox that a run took from a pool.
	PoolAdopted(namespace, pool string)
	// PoolMissed is told of a sandbox that was made because no pool had one that fits. pool is the first one that it could have come from.
	PoolMissed(namespace, pool string)
}

// Pools give runs sandboxes that are there already.
type Pools interface {
	// Take returns the Pod that is the run's from now on, nil if no pool has one that fits.
	Take(ctx context.Context, w pool.Wanted) (*corev1.Pod, error)
}

// Reconciler converges MotorRuns.
type Reconciler struct {
	client.Client
	// Live reads past the cache, where a stale answer would end or double something.
	Live client.Reader
	// Recent shares among runs what Live says of Secrets, Services and rights. Nil: each run reads for itself.
	Recent   *recent.Answers
	Recorder events.EventRecorder
	Models   cortex.Resolver
	// Pools give runs sandboxes that are there already. Nil: each run gets a new one.
	Pools Pools
	// Observer is told what becomes of runs. Nil is told nothing.
	Observer Observer
	// Logger gets a line for each change of a run that was stored. Nil gets none.
	Logger *slog.Logger
	// Budget bounds what runs keep in the cluster. Nil: there is no bound.
	Budget *budget.Budget
	// Energy is drained by each run that is accepted. Nil: no run drains any.
	Energy *energy.Ledger
	// Room requests passes when there is room again, or when archived runs have to make some. It belongs to Budget, and is nil without it.
	Room source.Source
	// Workers are the replicas that runs are assigned to. SetupWithManager sets it if it is nil.
	Workers placement.Workers
	Config  Config
	// Now is the process's clock, by which the Leases of replicas are judged, time.Now if nil.
	Now func() time.Time
	// Time is the clock of everything in the API. Nil: Now, and all time counts.
	Time Timekeeper

	// indexes is true if the cache finds runs by the indexes of index.go.
	indexes bool
	counts  pass.RunCache[gapCount]
	writes  pass.Writes
	// confirmed are the runs whose revision of a skill is theirs until their end.
	confirmed pass.RunCache[bool]
	enforced  isolation.State
	granted   grant.State
	placed    placement.State
	queues    queue.State
}

// grants returns the part that informs the egress proxy of what runs may reach.
func (r *Reconciler) grants() *grant.Granter {
	return &grant.Granter{
		Client: r.Client, Live: r.Live, Recent: r.Recent, Sandbox: r.Config.Sandbox, Service: r.Config.EgressService, Key: r.Config.EgressKey,
		CiliumPolicies: r.Config.CiliumPolicies, State: &r.granted,
	}
}

// policies returns the part that maintains the NetworkPolicies of sandboxes.
func (r *Reconciler) policies() *isolation.Policies {
	return &isolation.Policies{Client: r.Client, Live: r.Live, Sandbox: r.Config.Sandbox, State: &r.enforced}
}

// placer returns the part that assigns runs to the replicas of the manager.
func (r *Reconciler) placer() *placement.Placer {
	return &placement.Placer{Client: r.Client, Workers: r.Workers, TrialPause: r.Config.TrialPause, State: &r.placed, Indexed: r.indexes, Now: r.Now}
}

// own returns the time by the process's own clock.
func (r *Reconciler) own() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// SetupWithManager registers the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	own := r.Config.Sandbox.Namespace
	if err := addIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r.indexes = true
	for _, leaders := range []manager.Runnable{
		&sweep.Sweeper{Client: r.Client, Live: r.Live, Namespace: own},
		&network.Facts{Client: r.Client, Live: r.Live, Namespace: own, Forbidden: r.Config.ForbiddenCIDRs, WithoutNodes: r.Config.WithoutNodes},
	} {
		if err := mgr.Add(leaders); err != nil {
			return err
		}
	}
	b := ctrl.NewControllerManagedBy(mgr)
	if r.Workers == nil {
		workers := placement.NewLeaseWorkers(mgr.GetCache(), own, r.Now)
		workers.Show = r.Config.ShowReplicas
		if err := mgr.Add(workers); err != nil {
			return err
		}
		r.Workers = workers
		b = b.WatchesRawSource(&placement.LostRuns{Workers: workers, Runs: r.Client})
	}
	if r.Room != nil {
		b = b.WatchesRawSource(r.Room)
	}
	return b.
		Named("motorrun").
		For(&v1alpha1.MotorRun{}).
		Watches(&v1alpha1.MotorRun{}, unfinishedFirst()).
		Watches(&v1alpha1.MotorStep{}, r.stepEvents()).
		Owns(&corev1.Pod{}, builder.WithPredicates(changesSandbox())).
		Watches(&v1alpha1.MotorRun{}, handler.EnqueueRequestsFromMapFunc(r.nextTurns), builder.WithPredicates(leavesQueue())).
		Watches(&v1alpha1.MotorRun{}, handler.EnqueueRequestsFromMapFunc(r.placer().NextRuns), builder.WithPredicates(placement.LeavesSlot())).
		Watches(&v1alpha1.MotorRun{}, handler.EnqueueRequestsFromMapFunc(r.surplus), builder.WithPredicates(pass.HasEnded())).
		Watches(&v1alpha1.MotorRun{}, handler.EnqueueRequestsFromMapFunc(r.placer().BesideTrial), builder.WithPredicates(placement.ChangesTrial())).
		Watches(&v1alpha1.MotorCortex{}, handler.EnqueueRequestsFromMapFunc(r.allRuns),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Skill{}, handler.EnqueueRequestsFromMapFunc(r.awaitingSkill)).
		Watches(&networkingv1.NetworkPolicy{}, handler.EnqueueRequestsFromMapFunc(r.closedRuns)).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(runOfClaim), builder.OnlyMetadata).
		WithOptions(pass.Options(max(1, r.Config.MaxConcurrent))).
		Complete(r)
}

// Reconcile brings one run a step further and writes its status once.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.MotorRun{}
	if err := r.Get(ctx, req.NamespacedName, run); apierrors.IsNotFound(err) {
		return pass.Retry(), r.closeGone(ctx, req.NamespacedName)
	} else if err != nil {
		return pass.Retry(), err
	}
	if !run.DeletionTimestamp.IsZero() {
		return pass.Retry(), r.abandon(ctx, run)
	}
	if !pass.IsFinished(run) && r.writes.IsBehind(run, r.own()) {
		// The cache shows the run as it was before the last pass wrote it. Its next version triggers a pass.
		return pass.Again(pass.ConflictPause), nil
	}
	s := pass.NewRun(reach.Effective(run), r.apiNow())
	defer r.turns().Settle(s.Run)
	// A pass that failed half way has seen too little to speak about the run; the next one starts anew.
	err := r.converge(ctx, s)
	if err == nil {
		err = r.writeStatus(ctx, s)
	}
	if err == nil && s.PolicyChanged {
		r.policies().Reported(s.Run)
	}
	if err == nil && pass.IsFinished(s.Run) {
		err = r.tearDown(ctx, s)
	}
	if err == nil && pass.IsFinished(s.Run) {
		err = r.retire(ctx, s)
	}
	if apierrors.IsConflict(err) {
		// Another writer changed the run since it was read; the watch brings the new version.
		return pass.Again(pass.ConflictPause), nil
	}
	if err != nil {
		return pass.Retry(), err
	}
	return s.Result(), nil
}

// step is one part of the convergence of a run. It sets conditions and reports whether the next step may be taken.
type step struct {
	name string
	take func(context.Context, *pass.Run) (goOn bool, err error)
}

// converge takes the steps in order until one has to wait.
//
//	cleanUp → observe → decide → conclude → suspend → copied → leftover → skill → limits → queue → egress → accept → storage → admit → baseline → route → withdraw → sandbox → grant
//
// A run that got through is then placed on a replica. So is one that ends: the replica that had it may be gone, and its sandbox gets a last look.
func (r *Reconciler) converge(ctx context.Context, s *pass.Run) error {
	for _, st := range []step{
		{"cleanUp", r.cleanUp},
		{"observe", r.observe},
		{"decide", r.decide},
		{"conclude", r.conclude},
		{"suspend", r.suspend},
		{"copied", r.copied},
		{"leftover", r.leftover},
		{"skill", r.skill},
		{"limits", r.limits},
		{"queue", r.queue},
		{"egress", r.grants().Check},
		{"accept", r.accept},
		{"storage", r.Budget.Admit},
		{"admit", r.admit},
		{"baseline", r.policies().Baseline},
		{"route", r.policies().Route},
		{"withdraw", r.grants().WithdrawStale},
		{"sandbox", r.sandbox},
		{"grant", r.grants().Grant},
	} {
		goOn, err := st.take(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
		if goOn {
			continue
		}
		if ends := s.Decision.End != nil && s.Run.Status.Ending != nil; !ends {
			return nil
		}
		break
	}
	if err := r.placer().Place(ctx, s); err != nil {
		return fmt.Errorf("place: %w", err)
	}
	return nil
}

// writesIn returns how long the status of the pass must not be written yet, 0 for one that is written now. Each step of a run, and each report of a node
// about a Pod that starts, would be a write of its own otherwise.
func (r *Reconciler) writesIn(s *pass.Run) time.Duration {
	if r.Config.ShowPause == 0 || !pass.OnlyShows(&s.Before.Status, &s.Run.Status) {
		return 0
	}
	return max(s.EndsIn, r.writes.Wait(s.Run, r.Config.ShowPause, r.own()))
}

// writeStatus writes the changes of the steps, in one patch, and then reports the transitions as Events.
func (r *Reconciler) writeStatus(ctx context.Context, s *pass.Run) error {
	summarize(s)
	pass.PrintRun(&s.Run.Status)
	fit.Fit(&s.Run.Status)
	// The answer may lack fields that the API server does not know.
	paused := *s.Run.Status.Paused.DeepCopy()
	if !s.Changed() {
		r.noteCounted(s.Run, paused)
		return nil
	}
	if wait := r.writesIn(s); wait > 0 {
		s.Wake(s.Now.Add(wait))
		return nil
	}
	patch := client.MergeFromWithOptions(s.Before, client.MergeFromWithOptimisticLock{})
	// The API server returns the spec as it is stored, and the pass works with the effective one.
	stored := s.Run.DeepCopy()
	if err := r.Status().Patch(ctx, stored, patch); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	r.writes.Note(s.Before, stored, r.own())
	s.Run.ObjectMeta, s.Run.Status = stored.ObjectMeta, stored.Status
	r.noteCounted(s.Run, paused)
	r.observeEnd(s)
	pass.LogChanges(ctx, r.Logger, s.Before, s.Run)
	pass.Tell(r.Recorder, s.Run, append(transitions(s.Before, s.Run), approvalTransitions(s.Before, s.Run, s.Progress)...))
	return nil
}
