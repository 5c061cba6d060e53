// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/text"
)

// worker is one running loop, or the record of how it ended. There is never more than one goroutine for a run: two
// under the same claim would do nothing twice, but ask the model twice.
type worker struct {
	task   task
	cancel context.CancelFunc
	// running is false from the end of the goroutine on.
	running bool
	// looks is true if the run has ended, and its loop takes the last look at its sandbox.
	looks bool
	// stopped is true if the goroutine was cancelled; again, if the run must be reconciled when it has ended.
	stopped, again bool
	// over is true if no work of this task remains.
	over bool
	// waitingFor is the ask without whose outcome the loop need not be started again, nil for none.
	waitingFor *attempt.Waiting
	// closing is true if the attempt has ended and its files are being collected.
	closing bool
	// since is when the goroutine began.
	since time.Time
	// held is how many bytes the texts of its conversation had when it was last measured, or about as many as a journal of its length has.
	held int
	// gives is true from when the loop was told to give its slot back, until its run has another one.
	gives bool
	// memory is the state that the earlier starts of the loop left.
	memory attempt.Memory
	// retryAt is when to try again after a failure.
	retryAt time.Time
	// away is true if it ended because the model is not available.
	away bool
	// raises is how many answers to asks for a raise the run had when the loop began.
	raises int
	// changed is true if the MotorCortex was changed since the loop began.
	changed bool
}

// task identifies the work of a loop: an attempt of a run in a sandbox, under a claim. A loop whose task has changed
// is ended and started again.
type task struct {
	run     types.UID
	epoch   int64
	attempt int32
	podUID  string
	// isolationLost is when the sandbox last lost its isolation, in seconds; 0 if it never did.
	isolationLost int64
	// proxy is the egress proxy of the sandbox, "" if it has none.
	proxy string
	// ending is true if the end of the run is decided, and only the last look at its sandbox remains.
	ending bool
}

func taskOf(run *v1alpha1.MotorRun) task {
	t := task{run: run.UID, epoch: run.Status.Execution.Epoch, attempt: runpolicy.CurrentAttempt(run).Index, ending: run.Status.Ending != nil}
	if sb := run.Status.Sandbox; sb != nil {
		t.podUID = sb.PodUID
		if sb.IsolationLossTime != nil {
			t.isolationLost = sb.IsolationLossTime.Unix()
		}
	}
	if run.Status.Egress != nil {
		t.proxy = run.Status.Egress.Proxy
	}
	return t
}

// carries reports whether a running loop does what the run needs now. A loop that collects the files of an ended attempt does so
// whether the loop or the controller ends the run.
func (l *worker) carries(t task) bool {
	if l.closing {
		t.ending = l.task.ending
	}
	return !l.stopped && l.task == t
}

// stop cancels the goroutine; with again, the run is reconciled when it has ended.
func (l *worker) stop(again bool) {
	l.cancel()
	l.stopped, l.again = true, again
}

// idle reports whether a stopped loop has no work, and if that changes by itself, when.
func (l *worker) idle(run *v1alpha1.MotorRun, now time.Time, until func(time.Time) time.Duration) (wait time.Duration, idle bool) {
	if l.over {
		return 0, true
	}
	if w := l.waitingFor; w != nil && runpolicy.UsableResponse(run, &w.Ask) == nil {
		if wait, idle := unattended(w.Ask.OnTimeout, w.Expires, until); idle {
			return wait, true
		}
	}
	if l.away && budget.Answers(run) > l.raises {
		return 0, false
	}
	wait = max(0, l.retryAt.Sub(now))
	return wait, wait > 0
}

// drive runs the loop once and records how it ended. The journal has every result; the record here only decides when
// the loop is worth starting again.
func (e *Engine) drive(ctx context.Context, key types.NamespacedName, l *worker, run *v1alpha1.MotorRun) {
	known := &redacting.Secrets{}
	log := slog.New(redacting.Handler{Handler: e.Logger.Handler(), Secrets: known}).
		With("namespace", run.Namespace, "run", run.Name, "attempt", l.task.attempt, "epoch", l.task.epoch)
	waitingFor, err := guarded(ctx, e.newAttempt(l, run, known, log))
	l.cancel()
	e.tellOfMissing(l, run, known.HideError(err))

	e.mu.Lock()
	l.running = false
	e.count(l.looks, -1)
	lookAt := slices.Clone(e.queue)
	lookAgain := !l.stopped || l.again
	if l.stopped {
		if !l.again {
			delete(e.loops, key)
		}
		l.stopped, l.again = false, false
	} else if !e.isStopping() {
		e.note(l, waitingFor, err, log)
	}
	e.mu.Unlock()
	if lookAgain {
		// The awaited change may have come while the loop was ending, when Reconcile still saw it running.
		lookAt = append(lookAt, run)
	}
	e.notify(lookAt)
}

// maxMissing is the most bytes that an Event has about missing dependencies.
const maxMissing = 512

// tellOfMissing emits an Event about the run's missing dependency, once: its status only shows that it runs.
func (e *Engine) tellOfMissing(l *worker, run *v1alpha1.MotorRun, err error) {
	if e.Recorder == nil || l.memory.Absence.Told || !errors.Is(err, runenv.ErrMissing) {
		return
	}
	l.memory.Absence.Told = true
	e.Recorder.Eventf(run, nil, corev1.EventTypeWarning, v1alpha1.EventMissing, "Prepare",
		"The run waits for something that it needs, for %s at most: %s", runenv.MissingFor, text.CutBytes(text.Printable(err.Error()), maxMissing))
}

// note decides from the end of the loop when it is started again.
func (e *Engine) note(l *worker, waitingFor *attempt.Waiting, err error, log *slog.Logger) {
	l.memory.Note(err)
	o, away := errors.AsType[*chat.Outage](err)
	l.away = away
	switch {
	case away:
		l.retryAt = e.Now().Add(o.RetryAfter)
		if l.changed {
			l.retryAnew()
		}
		log.Info("the run waits for its model", "reason", o.Reason, "after", o.RetryAfter)
	case err == nil:
		l.waitingFor, l.over = waitingFor, waitingFor == nil
	case errors.Is(err, motorloop.ErrGivenBack):
		l.retryAt = time.Time{}
		log.Debug("the loop gave its slot back")
	case errors.Is(err, motorloop.ErrStale):
		log.Info("another worker carries the run on, or another attempt has begun")
		l.over = true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		log.Info("the namespace is being deleted, and the run with it")
		l.over = true
	case errors.Is(err, journal.ErrMovedOn):
		l.retryAt = e.Now().Add(backoff(l.memory.Failures))
		log.Info("the former holder of the run has written in its journal, which is read again")
	default:
		l.retryAt = e.Now().Add(backoff(l.memory.Failures))
		log.Error("the loop stopped and will be started again", "error", err, "failures", l.memory.Failures, "after", backoff(l.memory.Failures))
	}
}

// newAttempt returns the attempt that a worker carries on.
func (e *Engine) newAttempt(l *worker, run *v1alpha1.MotorRun, known *redacting.Secrets, log *slog.Logger) *attempt.Attempt {
	h := e.host()
	return &attempt.Attempt{
		Host: h, Env: h.NewEnv(run, e.claimOf(l.task), &l.memory.Absence, known, log), Index: l.task.attempt, Memory: &l.memory,
		Carries: func(live *v1alpha1.MotorRun) bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			return live.Status.Execution.Worker == e.Config.Worker && l.carries(taskOf(live))
		},
		GivesBack: func(held int, began bool) bool { return e.givesBack(l, run.Namespace, held, began) },
		Closing: func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			l.closing = true
		},
	}
}

// host returns the parts of this replica that attempts use.
func (e *Engine) host() *attempt.Host {
	return &attempt.Host{
		Client: e.Client, Live: e.Live, Bucket: e.Artifacts, Lease: ownLease{e}, Clock: e.clock(), Limits: &e.limits, Box: e.Config.Sandbox,
		Models: e.Models, AwayModels: e.AwayModels, NewModel: e.NewModel, Storage: e.Storage, SearchTransport: e.SearchTransport, Observer: e.Observer,
		Spending: e.Spending, Fault: e.Config.Fault,
	}
}

func (e *Engine) claimOf(t task) journal.Claim {
	return journal.Claim{Epoch: t.epoch, Worker: e.Config.Worker}
}

// guarded carries an attempt on and turns a panic into an error: one run must not end the loops of all others of this manager.
func guarded(ctx context.Context, a *attempt.Attempt) (waitingFor *attempt.Waiting, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = motorloop.NewPanic(v)
		}
	}()
	return a.Run(ctx)
}

// backoff returns 0.5 s, 1 s, 2 s … 30 s.
func backoff(failures int) time.Duration {
	return min(30*time.Second, 500*time.Millisecond<<min(failures-1, 6))
}
