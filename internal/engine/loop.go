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
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/text"
)

// loop is one loop that runs, or what is known of how it ended. There is never more than one goroutine for a run: two
// under the same claim would do nothing twice, but ask the model twice.
type loop struct {
	task   task
	cancel context.CancelFunc
	// running is false from the end of the goroutine on.
	running bool
	// looks says that the run has ended, and its loop takes the last look at its sandbox.
	looks bool
	// stopped says that the goroutine was told to end; again, that the run is to be looked at when it has.
	stopped, again bool
	// over says that nothing is left to do of this task.
	over bool
	// waitingFor is the ask without whose outcome the loop need not be started again, nil for none.
	waitingFor *waiting
	// closing says that the attempt has ended and what it leaves behind is being collected.
	closing bool
	history
	// retryAt is when to try again after a failure.
	retryAt time.Time
	// away says that it ended because the model cannot be had, awaySeconds how long to wait for the model at most.
	away        bool
	awaySeconds int32
	// changed says that the MotorCortex was changed since the loop began.
	changed bool
}

// task is what a loop carries on: an attempt of a run in a sandbox, under a claim. A loop whose task is another one by now
// is ended and started again.
type task struct {
	run     types.UID
	epoch   int64
	attempt int32
	podUID  string
	// isolationLost is when the sandbox was last found open, in seconds; 0 if it never was.
	isolationLost int64
	// proxy is the way out that the sandbox is told of, "" if it has none.
	proxy string
	// ending says that the end of the run is decided, and only its sandbox is to be looked at once more.
	ending bool
}

func taskOf(run *v1alpha1.MotorRun) task {
	t := task{run: run.UID, epoch: run.Status.Epoch, attempt: runpolicy.CurrentAttempt(run).Index, ending: run.Status.Ending != nil}
	if sb := run.Status.Sandbox; sb != nil {
		t.podUID = sb.PodUID
		if sb.IsolationLostAt != nil {
			t.isolationLost = sb.IsolationLostAt.Unix()
		}
	}
	if run.Status.Egress != nil {
		t.proxy = run.Status.Egress.Proxy
	}
	return t
}

// carries says whether a loop that runs does what the run needs now. One that collects what an end leaves behind does so
// whoever says that the run ends.
func (l *loop) carries(t task) bool {
	if l.closing {
		t.ending = l.task.ending
	}
	return !l.stopped && l.task == t
}

// waiting is an open ask that a loop ended with.
type waiting struct {
	ask v1alpha1.StepAsk
	// expires is ask.ExpiresAt with the times in which no manager led.
	expires time.Time
}

// stop tells the goroutine to end; again has the run looked at when it has.
func (l *loop) stop(again bool) {
	l.cancel()
	l.stopped, l.again = true, again
}

// idle says whether there is nothing to do for a loop that does not run, and if that changes by itself, when.
func (l *loop) idle(run *v1alpha1.MotorRun, now time.Time, until func(time.Time) time.Duration) (wait time.Duration, idle bool) {
	if l.over {
		return 0, true
	}
	if w := l.waitingFor; w != nil && runpolicy.UsableResponse(run, &w.ask) == nil {
		if wait, idle := unattended(w.ask.OnTimeout, w.expires, until); idle {
			return wait, true
		}
	}
	wait = max(0, l.retryAt.Sub(now))
	return wait, wait > 0
}

// history is what one start of a loop leaves to the next. Only the goroutine of the loop changes it while there is one.
type history struct {
	// failures in a row, and the panics in a row among them.
	failures, panics int
	// missingSince is when something that the run needs was first found missing, zero if nothing is.
	missingSince time.Time
	// missingTold says that an Event told of it.
	missingTold bool
	// unrecorded are the last answers of models; see thriftyModel.
	unrecorded []unrecordedAnswer
	// malformed is the request that was last answered in a way that cannot be read.
	malformed stubborn
}

// gotFurther forgets what ended the loop before: whatever ends it now is something else.
func (h *history) gotFurther() { *h = history{unrecorded: h.unrecorded, malformed: h.malformed} }

// missingFor is how long something that was there when the run was accepted may be missing: a Secret can be changed by
// deleting it and creating it again, and a tool server that ended is started again.
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
	if _, ok := errors.AsType[*motorloop.Outage](err); ok {
		// It is no failure of the loop, and it got as far as it could. It does not end a row of panics: the loop that meets an outage
		// did not come to where the others panicked.
		panics := h.panics
		h.gotFurther()
		h.panics = panics
		return
	}
	h.failures++
	if _, ok := errors.AsType[*motorloop.Panic](err); ok {
		h.panics++
		// It may be the answer that cannot be borne.
		h.unrecorded = nil
	} else if h.panics < maxPanics {
		// From maxPanics on nothing is tried but to end the run, however often that fails.
		h.panics = 0
	}
	if !errors.Is(err, errMissing) {
		h.missingSince = time.Time{}
	}
}

// drive runs the loop once and notes how it ended. The journal has every result; what is noted here is only when
// the loop is worth starting again.
func (e *Engine) drive(ctx context.Context, key types.NamespacedName, l *loop, run *v1alpha1.MotorRun) {
	known := &redacting.Secrets{}
	log := slog.New(redacting.Handler{Handler: e.Logger.Handler(), Secrets: known}).
		With("namespace", run.Namespace, "run", run.Name, "attempt", l.task.attempt, "epoch", l.task.epoch)
	waitingFor, err := e.guarded(ctx, l, run, known, log)
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
		// What it waits for may have come while it was ending, when Reconcile still saw it running.
		lookAt = append(lookAt, run)
	}
	e.notify(lookAt)
}

// maxMissing is the most bytes that an Event says of what is missing.
const maxMissing = 512

// tellOfMissing has an Event say what the run waits for, once: its status says only that it runs.
func (e *Engine) tellOfMissing(l *loop, run *v1alpha1.MotorRun, err error) {
	if e.Recorder == nil || l.missingTold || !errors.Is(err, errMissing) {
		return
	}
	l.missingTold = true
	e.Recorder.Eventf(run, nil, corev1.EventTypeWarning, v1alpha1.EventMissing, "Prepare",
		"The run waits for something that it needs, for %s at most: %s", missingFor, text.CutBytes(text.Printable(err.Error()), maxMissing))
}

// note decides by how the loop ended when it is started again.
func (e *Engine) note(l *loop, waitingFor *waiting, err error, log *slog.Logger) {
	l.note(err)
	o, away := errors.AsType[*motorloop.Outage](err)
	l.away = away
	switch {
	case away:
		l.retryAt = e.Now().Add(o.RetryAfter)
		if l.changed {
			l.retryAt = time.Time{}
		}
		log.Info("the run waits for its model", "reason", o.Reason, "after", o.RetryAfter)
	case err == nil:
		l.waitingFor, l.over = waitingFor, waitingFor == nil
	case errors.Is(err, motorloop.ErrStale):
		log.Info("another worker carries the run on, or another attempt has begun")
		l.over = true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		log.Info("the namespace is being deleted, and the run with it")
		l.over = true
	case errors.Is(err, journal.ErrMovedOn):
		l.retryAt = e.Now().Add(backoff(l.failures))
		log.Info("the former holder of the run has written in its journal, which is read again")
	default:
		l.retryAt = e.Now().Add(backoff(l.failures))
		log.Error("the loop stopped and will be started again", "error", err, "failures", l.failures, "after", backoff(l.failures))
	}
}

// guarded is carryOn, but a panic is an error: one run must not end the loops of all others of this manager.
func (e *Engine) guarded(
	ctx context.Context, l *loop, run *v1alpha1.MotorRun, known *redacting.Secrets, log *slog.Logger,
) (waitingFor *waiting, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = motorloop.NewPanic(v)
		}
	}()
	return e.carryOn(ctx, l, run, known, log)
}

// backoff is 0.5 s, 1 s, 2 s … 30 s.
func backoff(failures int) time.Duration {
	return min(30*time.Second, 500*time.Millisecond<<min(failures-1, 6))
}
