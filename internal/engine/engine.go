// SPDX-License-Identifier: Apache-2.0

// Package engine decides which loops this replica of the manager runs, and runs them. A loop is a goroutine only while
// it has work: a run that waits for a person has none, only its journal.
package engine

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/spending"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

// Config is the engine's configuration from the manager's flags.
type Config struct {
	// Worker is the name under which the controller assigns runs to this replica. It identifies the process, not the Pod.
	Worker string
	// Version of this replica, which its Lease contains.
	Version string
	// LeaseNamespace is where the Leases of all replicas are.
	LeaseNamespace string
	// PodName names this replica's Lease, which a restarted process takes over from its predecessor. PodUID makes the
	// Lease go with the Pod; it may be empty.
	PodName, PodUID string
	// LeaseDuration is how long the Lease counts without being renewed, DefaultLeaseDuration if 0. No loop runs without it.
	LeaseDuration time.Duration
	// Sandbox is the configuration of sandboxes.
	Sandbox box.Config
	// MaxLoops is how many loops run at the same time; more wait for their turn. A quarter of them is for the first run of each namespace. 0 means
	// no bound.
	MaxLoops int
	// LoopMemory is how many bytes loops may have in memory together. A quarter is for the first run of each namespace. 0 means no bound.
	LoopMemory int64
	// Fault is called at each FaultPoint. It is nil but in tests.
	Fault attempt.Fault
}

// Engine runs the loops of the runs that are assigned to this replica.
type Engine struct {
	Client client.Client
	// Live reads past the cache: the journal must be complete.
	Live client.Reader
	// Leases holds this replica's Lease.
	Leases coordinationv1client.LeasesGetter
	Models cortex.Resolver
	// AwayModels is Models for runs that wait for their model: it may share what it reads among them. Without it each run looks for itself.
	AwayModels cortex.Resolver
	// Artifacts stores the artifacts that are too large for objects; if it is nil, they are not stored.
	Artifacts runenv.Bucket
	// NewModel makes the model of an endpoint. It fails if no request can be sent there, whenever it is tried.
	NewModel func(cortex.Endpoint) (chat.Model, error)
	// Storage keeps the runs of a namespace from asking their models while they keep too much in the cluster; if it is nil, they are never kept.
	Storage attempt.Storage
	// Spending is told what calls of models cost; if it is nil, nothing is.
	Spending spending.Observer
	// Recorder emits Events about the missing dependencies of a run; none if it is nil.
	Recorder events.EventRecorder
	// SearchTransport reaches search providers, one of its own kind if it is nil.
	SearchTransport http.RoundTripper
	// Observer is told how loops spend their time, nothing if it is nil.
	Observer motorloop.Observer
	Config   Config
	Logger   *slog.Logger
	// Now is the process's clock, which Leases and pauses use.
	Now func() time.Time
	// Time is the clock for all times in the API. If it is nil, Now is used, and all time counts.
	Time runenv.Timekeeper

	mu    sync.Mutex
	loops map[types.NamespacedName]*worker
	// running counts the loops that run; queue has the runs that wait for one of them to end, the first one first.
	running int
	// looking counts the last looks, which have slots of their own: a run that has ended has less than a minute.
	looking int
	// halting and stilling count the sandboxes that are being halted, and those whose background programs are being ended. Both have slots of
	// their own, too: they wait for no loop, and no loop for them.
	halting, stilling int
	queue             []*v1alpha1.MotorRun
	wg                sync.WaitGroup
	ended             chan event.TypedGenericEvent[*v1alpha1.MotorRun]
	// stopping is closed when the manager ends: no loop starts any more.
	stopping chan struct{}
	// halts are the sandboxes that lost their isolation.
	halts map[types.NamespacedName]*halting
	// stills are the runs that stand still, and whose background programs are ended.
	stills map[types.NamespacedName]*halting
	// heldUntil is when this replica's Lease runs out, zero while it has none.
	heldUntil time.Time
	// limits bound the concurrent work of the loops.
	limits runenv.Limits
}

// SetupWithManager registers the engine as a watcher of runs and as the owner of its loops.
func (e *Engine) SetupWithManager(mgr ctrl.Manager) error {
	e.loops = map[types.NamespacedName]*worker{}
	e.halts = map[types.NamespacedName]*halting{}
	e.stills = map[types.NamespacedName]*halting{}
	e.ended = make(chan event.TypedGenericEvent[*v1alpha1.MotorRun])
	e.stopping = make(chan struct{})
	if err := mgr.Add(e); err != nil {
		return err
	}
	needLeader := false
	return ctrl.NewControllerManagedBy(mgr).
		Named("engine").
		For(&v1alpha1.MotorRun{}).
		Watches(&v1alpha1.MotorCortex{}, handler.EnqueueRequestsFromMapFunc(e.awayRuns),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.TypedChannel(e.ended, &handler.TypedEnqueueRequestForObject[*v1alpha1.MotorRun]{})).
		WithOptions(controller.Options{NeedLeaderElection: &needLeader, MaxConcurrentReconciles: 2}).
		Complete(e)
}

// NeedLeaderElection is false: a run names its worker, and only that one touches it.
func (e *Engine) NeedLeaderElection() bool { return false }

// stopTimeout is how long the loops may take to end when the manager stops. They are cancelled at once.
const stopTimeout = 3 * time.Second

// Start maintains this replica's Lease until the manager ends. Then it ends all loops, waits for them, and releases the
// Lease, so that others carry the runs on at once.
func (e *Engine) Start(ctx context.Context) error {
	lease := e.newLease()
	e.keep(ctx, lease)

	e.mu.Lock()
	close(e.stopping)
	for _, l := range e.loops {
		l.cancel()
	}
	e.mu.Unlock()
	ended := make(chan struct{})
	go func() { e.wg.Wait(); close(ended) }()
	select {
	case <-ended:
		lease.release(ctx, e.Logger)
	case <-time.After(stopTimeout):
		// Its runs resume elsewhere when the Lease has run out. The end of the process ends the loop.
		e.Logger.Error("a loop does not end, so the Lease is not given up", "after", stopTimeout.String())
	}
	return nil
}

// Reconcile starts the run's loop if it should run and does not, and ends it if it should not. It makes no model call
// and no tool call itself.
func (e *Engine) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.MotorRun{}
	if err := e.Client.Get(ctx, req.NamespacedName, run); err != nil {
		if client.IgnoreNotFound(err) == nil {
			e.stop(req.NamespacedName)
			e.forgetHalt(req.NamespacedName)
		}
		return after(0), client.IgnoreNotFound(err)
	}
	// From here on the run includes its skill's policy: every loop is started with this run.
	run = reach.Effective(run)
	if e.mustHalt(run) {
		if again, waits := e.halt(run); waits { //nolint:contextcheck // as below
			return after(again), nil
		}
	}
	if !e.shouldRun(run) {
		if e.onlyAsks(run) {
			e.rest(req.NamespacedName)
		} else {
			e.stop(req.NamespacedName)
		}
		return after(sooner(e.expiry(run), e.still(run))), nil //nolint:contextcheck // as below
	}
	if !e.goesOn(req.NamespacedName) {
		return ctrl.Result{}, nil // It is looked at again when that has ended.
	}
	return e.ensure(run), nil //nolint:contextcheck // a loop outlives the pass that starts it; Start ends it
}

// after requests another pass after a pause, or, if that is 0, only if the pass has failed. A run that was there when the replica began has a low priority
// in its first pass, and would retain it: the timers of quiet runs would wait behind the events of all others.
func after(pause time.Duration) ctrl.Result {
	return ctrl.Result{RequeueAfter: pause, Priority: new(0)}
}

// sooner is the shorter one of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// shouldRun reports whether this replica has work for the run now.
func (e *Engine) shouldRun(run *v1alpha1.MotorRun) bool {
	st := &run.Status
	switch {
	case !run.DeletionTimestamp.IsZero():
		return false
	case st.Execution.Worker != e.Config.Worker:
		return false
	case len(st.Attempts) == 0:
		return false
	case apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionFinished), runpolicy.Held(st):
		// A run that is held must not be parsed: its content may be what ended its workers.
		return false
	case st.Ending != nil:
		// Its remains are collected, and its last step closed, even if it waited or is suspended.
		return true
	case apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSuspended):
		// The time at which the run was resumed is known from this condition alone. A loop that began before would count the time of the suspension
		// as time without the model, and fail the attempt with its first try.
		return false
	case run.Spec.Cancel, run.Spec.Suspend:
		return false
	case st.Sandbox == nil || st.Sandbox.PodIP == "":
		return false
	case !apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSandboxReady):
		return false
	case e.onlyWaits(run):
		return false
	case awaitsEgress(st):
		return false
	case st.Egress != nil && st.Egress.Attempt != runpolicy.CurrentAttempt(run).Index:
		// The proxy still knows the token of the attempt before.
		return false
	case runpolicy.GrantPending(run), runpolicy.AnswerUnseen(run):
		return false
	}
	return true
}

// onlyWaits reports whether the run has an open ask, and nothing to do before it is answered.
func (e *Engine) onlyWaits(run *v1alpha1.MotorRun) bool {
	p := run.Status.Pending()
	return p != nil && !runpolicy.RetriesAlone(p) && !runpolicy.Answered(run, p) && !e.expired(p)
}

// awaitsEgress reports whether the sandbox is about to get egress that it lacks. Without it the loop would start with no domains and
// no credentials, and be ended in the middle of a call when the egress opens.
func awaitsEgress(st *v1alpha1.MotorRunStatus) bool {
	c := apimeta.FindStatusCondition(st.Conditions, v1alpha1.ConditionEgressReady)
	return st.Egress == nil && c != nil && c.Status == metav1.ConditionFalse && c.Reason != v1alpha1.ReasonDomainNotAllowed
}

// ensure starts the run's loop unless it runs already, has no work, or must be tried again later.
func (e *Engine) ensure(run *v1alpha1.MotorRun) ctrl.Result {
	key := client.ObjectKeyFromObject(run)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isStopping() {
		return ctrl.Result{}
	}
	var before attempt.Memory
	if l := e.loops[key]; l != nil {
		if !l.running && l.task == taskOf(run) {
			if wait, idle := l.idle(run, e.Now(), e.until); idle {
				e.dequeue(key)
				return after(wait)
			}
			before = l.memory
		}
		if l.running {
			e.dequeue(key)
			if !l.carries(taskOf(run)) {
				l.stop(true)
			}
			return ctrl.Result{}
		}
	}
	looks, size := run.Status.Ending != nil, e.sizeOf(run)
	n := e.tally()
	if !e.held() || e.isFull(n, run.Namespace, looks) {
		e.enqueue(run)
		return ctrl.Result{}
	}
	if !looks && (e.lacksMemory(n, run.Namespace, size) || e.standsBack(n, run)) {
		e.enqueue(run)
		// A conversation that is measured may leave room, and no end of a loop may come to wake this run.
		return ctrl.Result{RequeueAfter: time.Second}
	}
	if !looks && e.crowds(n, run.Namespace) {
		e.enqueue(run)
		// There is a free slot, so no end of a loop may come to wake this run when the others have their share.
		return after(time.Second)
	}
	e.dequeue(key)
	e.count(looks, 1)
	ctx, cancel := context.WithCancel(context.Background())
	l := &worker{task: taskOf(run), cancel: cancel, running: true, looks: looks, memory: before, since: e.Now(), held: size, raises: budget.Answers(run)}
	e.loops[key] = l
	e.wg.Go(func() { e.drive(ctx, key, l, run) })
	return ctrl.Result{}
}

// stop ends the run's loop, if it has one.
func (e *Engine) stop(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dequeue(key)
	l := e.loops[key]
	switch {
	case l == nil:
	case l.running:
		l.stop(false)
	default:
		delete(e.loops, key)
	}
}

// onlyAsks reports whether only a question stops this replica from carrying the run on.
func (e *Engine) onlyAsks(run *v1alpha1.MotorRun) bool {
	answered := *run
	answered.Status.PendingInputs = nil
	return e.shouldRun(&answered)
}

// rest is stop for a run that waits for a person. A running loop ends by itself, after it has collected the run's files so far.
func (e *Engine) rest(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dequeue(key)
	if l := e.loops[key]; l != nil && !l.running {
		delete(e.loops, key)
	}
}

func (e *Engine) isStopping() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}
