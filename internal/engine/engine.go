// SPDX-License-Identifier: Apache-2.0

// Package engine decides which loops this replica of the manager runs, and runs them. A loop is a goroutine only while
// there is something to do: a run that waits for a person has none, only its journal.
package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/modelref"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Config is what the engine is told by the manager's flags.
type Config struct {
	// Worker is the name under which the controller gives runs to this replica.
	Worker string
	// ClientCert shows the tool servers that this is the manager.
	ClientCert tls.Certificate
	// Forbidden are addresses that no sandbox may reach, each with something that listens there.
	Forbidden []toolapi.ProbeTarget
	// IsolationTimeout is how long a sandbox may take until all of them are blocked.
	IsolationTimeout time.Duration
	// ConnectTimeout is how long the tool server of a running Pod may be unreachable.
	ConnectTimeout time.Duration
	// MaxLoops is how many loops run at the same time; more wait for their turn. 0 means no bound.
	MaxLoops int
}

// Engine runs the loops of the runs that were given to this replica.
type Engine struct {
	Client client.Client
	// Live reads past the cache: the journal must be complete.
	Live   client.Reader
	Models modelref.Resolver
	// NewModel makes the model of an endpoint. It fails if no request can be sent there, whenever it is tried.
	NewModel func(modelref.Endpoint) (motorloop.Model, error)
	Config   Config
	Logger   *slog.Logger
	Now      func() time.Time

	mu    sync.Mutex
	loops map[types.NamespacedName]*loop
	// running counts the loops that run; queue has the runs that wait for one of them to end, the first one first.
	running int
	queue   []*v1alpha1.MotorRun
	wg      sync.WaitGroup
	ended   chan event.TypedGenericEvent[*v1alpha1.MotorRun]
	// stopping is closed when the manager ends: no loop starts any more.
	stopping chan struct{}
}

// loop is one loop that runs, or what is known of how it ended.
type loop struct {
	uid    types.UID
	epoch  int64
	cancel context.CancelFunc
	// running is false from the end of the goroutine on.
	running bool
	// over says that nothing is left to do under this epoch.
	over bool
	// waitingFor is the id of the question without whose answer the loop need not be started again.
	waitingFor string
	history
	// retryAt is when to try again after a failure.
	retryAt time.Time
}

// history is what one start of a loop leaves to the next. Only the goroutine of the loop changes it while there is one.
type history struct {
	// failures in a row, and the panics in a row among them.
	failures, panics int
	// missingSince is when something that the run needs was first found missing, zero if nothing is.
	missingSince time.Time
}

// missingFor is how long something that was there when the run was accepted may be missing: a Secret can be changed by
// deleting it and creating it again.
const missingFor = time.Minute

// mayComeBack says whether to wait for what is missing now.
func (h *history) mayComeBack(now time.Time) bool {
	if h.missingSince.IsZero() {
		h.missingSince = now
	}
	return now.Sub(h.missingSince) < missingFor
}

// note adds how a start of the loop ended.
func (h *history) note(err error) {
	if err == nil {
		*h = history{}
		return
	}
	h.failures++
	if _, ok := errors.AsType[*motorloop.Panic](err); ok {
		h.panics++
	} else if h.panics < maxPanics {
		// From maxPanics on nothing is tried but to end the run, however often that fails.
		h.panics = 0
	}
	if !errors.Is(err, errMissing) {
		h.missingSince = time.Time{}
	}
}

// SetupWithManager registers the engine as a watcher of runs and as the owner of its loops.
func (e *Engine) SetupWithManager(mgr ctrl.Manager) error {
	e.loops = map[types.NamespacedName]*loop{}
	e.ended = make(chan event.TypedGenericEvent[*v1alpha1.MotorRun])
	e.stopping = make(chan struct{})
	if err := mgr.Add(e); err != nil {
		return err
	}
	needLeader := false
	return ctrl.NewControllerManagedBy(mgr).
		Named("engine").
		For(&v1alpha1.MotorRun{}).
		WatchesRawSource(source.TypedChannel(e.ended, &handler.TypedEnqueueRequestForObject[*v1alpha1.MotorRun]{})).
		WithOptions(controller.Options{NeedLeaderElection: &needLeader, MaxConcurrentReconciles: 2}).
		Complete(e)
}

// NeedLeaderElection is false: a run names its worker, and only that one touches it.
func (e *Engine) NeedLeaderElection() bool { return false }

// Start waits for the end of the manager, then ends all loops and waits for them.
func (e *Engine) Start(ctx context.Context) error {
	<-ctx.Done()
	e.mu.Lock()
	close(e.stopping)
	for _, l := range e.loops {
		l.cancel()
	}
	e.mu.Unlock()
	e.wg.Wait()
	return nil
}

// Reconcile starts the run's loop if it should run and does not, and ends it if it should not. It makes no model call
// and no tool call itself.
func (e *Engine) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	run := &v1alpha1.MotorRun{}
	if err := e.Client.Get(ctx, req.NamespacedName, run); err != nil {
		if client.IgnoreNotFound(err) == nil {
			e.stop(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !e.shouldRun(run) {
		e.stop(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	return e.ensure(run), nil //nolint:contextcheck // a loop outlives the pass that starts it; Start ends it
}

// shouldRun says whether this replica has something to do for the run now.
func (e *Engine) shouldRun(run *v1alpha1.MotorRun) bool {
	st := &run.Status
	switch {
	case !run.DeletionTimestamp.IsZero(), run.Spec.Cancel:
		return false
	case st.Worker != e.Config.Worker:
		return false
	case apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionFinished):
		return false
	case st.Sandbox == nil || st.Sandbox.PodIP == "":
		return false
	case !apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSandboxReady):
		return false
	case st.PendingInput != nil && !runpolicy.Answered(run, st.PendingInput):
		return false
	}
	return true
}

// ensure starts the run's loop unless it runs already, has nothing to do, or is to be tried again later.
func (e *Engine) ensure(run *v1alpha1.MotorRun) ctrl.Result {
	key := client.ObjectKeyFromObject(run)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.isStopping() {
		return ctrl.Result{}
	}
	var before history
	if l := e.loops[key]; l != nil && l.uid == run.UID && l.epoch == run.Status.Epoch {
		if l.running || l.over || (l.waitingFor != "" && !runpolicy.Answered(run, &v1alpha1.PendingInput{ID: l.waitingFor})) {
			e.dequeue(key)
			return ctrl.Result{}
		}
		if wait := l.retryAt.Sub(e.Now()); wait > 0 {
			e.dequeue(key)
			return ctrl.Result{RequeueAfter: wait}
		}
		before = l.history
	} else if l != nil {
		l.cancel()
	}
	if e.Config.MaxLoops > 0 && e.running >= e.Config.MaxLoops {
		e.enqueue(run)
		return ctrl.Result{}
	}
	if e.crowds(run.Namespace) {
		e.enqueue(run)
		// There is room, so there need not be the end of a loop to wake it when the others have theirs.
		return ctrl.Result{RequeueAfter: time.Second}
	}
	e.dequeue(key)
	e.running++
	ctx, cancel := context.WithCancel(context.Background())
	l := &loop{uid: run.UID, epoch: run.Status.Epoch, cancel: cancel, running: true, history: before}
	e.loops[key] = l
	e.wg.Go(func() { e.drive(ctx, key, l, run) })
	return ctrl.Result{}
}

// enqueue notes that the run waits for a loop to end. It keeps the place that it has.
func (e *Engine) enqueue(run *v1alpha1.MotorRun) {
	if !slices.ContainsFunc(e.queue, func(r *v1alpha1.MotorRun) bool { return sameName(r, client.ObjectKeyFromObject(run)) }) {
		e.queue = append(e.queue, run)
	}
}

func (e *Engine) dequeue(key types.NamespacedName) {
	e.queue = slices.DeleteFunc(e.queue, func(r *v1alpha1.MotorRun) bool { return sameName(r, key) })
}

func sameName(run *v1alpha1.MotorRun, key types.NamespacedName) bool {
	return client.ObjectKeyFromObject(run) == key
}

// crowds says whether the namespace has its half of all loops while runs of others wait: the endpoint of one namespace
// can hang, and must not have everybody else's runs hang with it.
func (e *Engine) crowds(namespace string) bool {
	if !slices.ContainsFunc(e.queue, func(r *v1alpha1.MotorRun) bool { return r.Namespace != namespace }) {
		return false
	}
	has := 0
	for key, l := range e.loops {
		if key.Namespace == namespace && l.running {
			has++
		}
	}
	// Rounded up, so that two namespaces that both have their half leave no room unused.
	return has >= (e.Config.MaxLoops+1)/2
}

func (e *Engine) isStopping() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}

func (e *Engine) stop(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dequeue(key)
	if l := e.loops[key]; l != nil {
		l.cancel()
		delete(e.loops, key)
	}
}

// drive runs the loop once and notes how it ended. The journal has every result; what is noted here is only when
// the loop is worth starting again.
func (e *Engine) drive(ctx context.Context, key types.NamespacedName, l *loop, run *v1alpha1.MotorRun) {
	log := e.Logger.With("namespace", run.Namespace, "run", run.Name, "epoch", run.Status.Epoch)
	waitingFor, err := e.guarded(ctx, l, run, log)
	l.cancel()

	e.mu.Lock()
	l.running = false
	e.running--
	lookAt := slices.Clone(e.queue)
	stopped := e.loops[key] != l || e.isStopping()
	l.note(err)
	switch {
	case stopped:
	case err == nil:
		l.waitingFor, l.over = waitingFor, waitingFor == ""
	case errors.Is(err, motorloop.ErrStale):
		log.Info("another worker carries the run on")
		l.over = true
	default:
		l.retryAt = e.Now().Add(backoff(l.failures))
		log.Error("the loop stopped and will be started again", "error", err, "failures", l.failures, "after", backoff(l.failures))
	}
	e.mu.Unlock()
	if !stopped {
		// The answer may have come while the loop was ending, when Reconcile still saw it running.
		lookAt = append(lookAt, run)
	}
	e.notify(lookAt)
}

// guarded is carryOn, but a panic is an error: one run must not end the loops of all others of this manager.
func (e *Engine) guarded(ctx context.Context, l *loop, run *v1alpha1.MotorRun, log *slog.Logger) (waitingFor string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = motorloop.NewPanic(v)
		}
	}()
	return e.carryOn(ctx, l, run, log)
}

// notify has Reconcile look at runs, in this order. Those that waited for a place and find none keep their turn.
func (e *Engine) notify(runs []*v1alpha1.MotorRun) {
	for _, run := range runs {
		select {
		case e.ended <- event.TypedGenericEvent[*v1alpha1.MotorRun]{Object: run}:
		case <-e.stopping:
			return
		}
	}
}

// backoff is 0.5 s, 1 s, 2 s … 30 s.
func backoff(failures int) time.Duration {
	return min(30*time.Second, 500*time.Millisecond<<min(failures-1, 6))
}
