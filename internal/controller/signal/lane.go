// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
)

const (
	// firstPause is the pause after a first failure. Each further one doubles it, up to maxPause.
	firstPause, maxPause = time.Second, 5 * time.Minute
	// maxTries is how often a signal is tried that the sink does not take while it takes others.
	maxTries = 10
	// maxGone bounds the deleted runs that a lane keeps because their end is not told, maxWhole those of them with their result. Each sink has its
	// own, so that deletions in one namespace lose nothing in another.
	maxGone, maxWhole = 1024, 64
)

// laneKey is the sink of a lane. A sink of signals and a receiver of notifications can have the same name.
type laneKey struct {
	namespace, sink string
	people          bool
}

// lane tells one sink. One goroutine tells it one signal after the other, so that the signals of a run keep their order.
type lane struct {
	laneKey
	// from is the instant before which nothing is left to tell.
	from time.Time
	// once is true if asks from before that instant are not told again. People have no memory of ids, and a process before this one told them.
	once bool
	// wake ends a pause, done the lane.
	wake, done chan struct{}
	queue      workqueue.TypedRateLimitingInterface[subject]

	mu     sync.Mutex
	sink   channel
	sender Sender
	// broken is why there is no sender.
	broken *deliver.Failure
	// target has the values of the Secrets as they were read last.
	target   deliver.Target
	targetAt time.Time
	// told is what the sink was told about each object that exists. It has one entry for each of the cache's.
	told map[subject]*memory
	// pending are the subjects that the lane has to look at.
	pending map[subject]pending
	// gone is what is kept of deleted runs whose end is not told.
	gone   map[subject]*v1alpha1.MotorRun
	health health
	// failures is how many signals in succession the sink did not take, pauseUntil the end of the pause after the last of them, by this process's
	// clock.
	failures   int
	pauseUntil time.Time
	// successes counts the signals that the sink has taken. What is no fault of a signal is told by it from what is.
	successes int
	// refusing is true if the sink has refused a signal for good since it took the last one. refused is the subject of that signal, the zero subject
	// if the signal was dropped.
	refusing bool
	refused  subject
}

// memory is about one subject.
type memory struct {
	cursor signal.Cursor
	// tries counts the failures of the next signal. failures counts those before which the sink had taken others since the one before, and successes
	// is how many it had taken at the last of them.
	tries, failures, successes int
	// refused is true if the sink refused the next signal for good once.
	refused bool
}

// pending is a subject that waits.
type pending struct {
	// since is when the first of what may be untold happened.
	since time.Time
	// touches counts its changes, so that one during a look is not overlooked.
	touches int
}

// health is how a lane goes, for the status.
type health struct {
	taken, failed time.Time
	// failure is nil if the last signal was taken.
	failure *deliver.Failure
	lastSay string
	dropped int64
}

func newLane(key laneKey, from time.Time) *lane {
	return &lane{
		laneKey: key, from: from, wake: make(chan struct{}, 1), done: make(chan struct{}),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[subject](firstPause, maxPause)),
		told:  map[subject]*memory{}, pending: map[subject]pending{}, gone: map[subject]*v1alpha1.MotorRun{},
	}
}

// configure sets the sink as the spec has it. What was changed may mend it, so it is tried at once.
func (l *lane) configure(sink channel, newSender func(caBundle string) (Sender, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.sender != nil || l.broken != nil) && same(&l.sink, &sink) {
		return
	}
	if l.sender == nil || l.sink.CABundle != sink.CABundle {
		if l.sender != nil {
			l.sender.Close()
		}
		var err error
		l.broken = nil
		if l.sender, err = newSender(sink.CABundle); err != nil {
			l.sender, l.broken = nil, &deliver.Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The sink cannot be used: " + err.Error() + "."}
		}
	}
	l.sink, l.targetAt, l.failures, l.pauseUntil = sink, time.Time{}, 0, time.Time{}
	for s := range l.pending {
		l.queue.Add(s)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func same(a, b *channel) bool {
	ref := func(a, b *v1alpha1.SecretKeyRef) bool { return a == b || a != nil && b != nil && *a == *b }
	return a.people == b.people && a.slack == b.slack && a.pageURL == b.pageURL && a.Name == b.Name && a.URL == b.URL && a.CABundle == b.CABundle && slices.Equal(a.Events, b.Events) &&
		ref(a.AuthorizationSecretRef, b.AuthorizationSecretRef) && ref(a.SigningKeySecretRef, b.SigningKeySecretRef)
}

// wants reports whether the sink is told an event.
func (l *lane) wants(e v1alpha1.SignalEvent) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sink.Events) == 0 || slices.Contains(l.sink.Events, e)
}

// touch has the lane look at a subject, of which something may be untold that happened at an instant.
func (l *lane) touch(s subject, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touchLocked(s, at)
}

// touchRun has the lane look at a run, of which something may be untold that happened at its end, or else at an instant. A run that ended before the
// beginning of the lane has nothing left: the first list of a watch has all of them, and with the oldest the settled instant would go back.
func (l *lane) touchRun(run *v1alpha1.MotorRun, at time.Time) {
	if end, ended := signal.EndOf(run); ended {
		at = end
	}
	if !at.Before(l.from) {
		l.touch(subjectOf(kindRun, run), at)
	}
}

func (l *lane) touchLocked(s subject, at time.Time) {
	if m := l.told[s]; m != nil && m.cursor.Ended {
		return
	}
	p, waits := l.pending[s]
	if !waits || at.Before(p.since) {
		p.since = at
	}
	p.touches++
	l.pending[s] = p
	l.queue.Add(s)
}

// depart has the lane tell the end of an object that was deleted, and forget it. last is nil if how it ended is not known.
func (l *lane) depart(s subject, last *v1alpha1.MotorRun, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.told[s]
	if s.kind != kindRun || m != nil && m.cursor.Ended {
		l.forgetLocked(s)
		return
	}
	if last == nil || len(l.gone) >= maxGone {
		l.health.dropped++
		l.forgetLocked(s)
		return
	}
	if end, ended := signal.EndOf(last); ended && end.Before(l.from) {
		l.forgetLocked(s)
		return
	}
	l.gone[s] = signal.Kept(last, len(l.gone) < maxWhole)
	l.touchLocked(s, now)
}

func (l *lane) forgetLocked(s subject) {
	delete(l.told, s)
	delete(l.pending, s)
	delete(l.gone, s)
	l.queue.Forget(s)
}

// run tells the sink until the context or the lane ends.
func (l *lane) run(ctx context.Context, tell func(context.Context, *lane, subject) error) {
	ctx, cancel := context.WithCancel(ctx)
	var ends sync.WaitGroup
	defer ends.Wait()
	defer cancel()
	ends.Go(func() {
		select {
		case <-ctx.Done():
		case <-l.done:
			cancel()
		}
		l.queue.ShutDown()
	})
	for {
		s, down := l.queue.Get()
		if down {
			break
		}
		if err := tell(ctx, l, s); err != nil {
			l.queue.AddRateLimited(s)
		}
		l.queue.Done(s)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sender != nil {
		l.sender.Close()
	}
}

// close ends the lane.
func (l *lane) close() {
	close(l.done)
	l.queue.ShutDown()
}

// await waits for the end of the pause, and reports whether there was one.
func (l *lane) await(ctx context.Context) bool {
	l.mu.Lock()
	pause := time.Until(l.pauseUntil)
	l.mu.Unlock()
	if pause <= 0 {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-l.wake:
	}
	return true
}

// begin returns the cursor of a subject, the run if it was deleted, and the mark for settle.
func (l *lane) begin(s subject) (c signal.Cursor, gone *v1alpha1.MotorRun, mark int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.told[s]; m != nil {
		return m.cursor, l.gone[s], l.pending[s].touches
	}
	return signal.Cursor{From: l.from, Once: l.once}, l.gone[s], l.pending[s].touches
}

// settle notes that nothing is left to tell about a subject, unless it was touched since begin.
func (l *lane) settle(s subject, c signal.Cursor, gone bool, mark int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if gone {
		l.forgetLocked(s)
		return
	}
	l.memoryLocked(s).cursor = c
	l.doneLocked(s, mark)
}

// leave notes that there is nothing to look at, unless the subject was touched since begin.
func (l *lane) leave(s subject, mark int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doneLocked(s, mark)
}

func (l *lane) doneLocked(s subject, mark int) {
	l.queue.Forget(s)
	if l.pending[s].touches == mark {
		delete(l.pending, s)
	}
}

// took notes that the sink has taken a signal.
func (l *lane) took(s subject, next signal.Cursor, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advanceLocked(s, next)
	l.health.taken, l.health.failure = now, nil
	l.failures, l.pauseUntil = 0, time.Time{}
	l.refusing, l.refused = false, subject{}
	l.successes++
}

func (l *lane) advanceLocked(s subject, next signal.Cursor) {
	m := l.memoryLocked(s)
	*m = memory{cursor: next}
	l.queue.Add(s)
}

func (l *lane) memoryLocked(s subject) *memory {
	m := l.told[s]
	if m == nil {
		m = &memory{cursor: signal.Cursor{From: l.from, Once: l.once}}
		l.told[s] = m
	}
	return m
}

// failed notes that the sink did not take a signal. A signal that is refused for good is dropped, and so is one that fails again and again while the
// sink takes others: it would be tried for ever. Failures of a time in which the sink takes nothing are no fault of the signal.
func (l *lane) failed(s subject, next signal.Cursor, f *deliver.Failure, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.health.failed, l.health.lastSay = now, f.Message
	m := l.memoryLocked(s)
	if f.Final && l.isOfSignalLocked(s) {
		l.refusing, l.refused = true, s
		if !m.refused {
			// It may be the signature: the Secrets are read again.
			m.refused, l.targetAt = true, time.Time{}
			l.queue.Add(s)
			return
		}
		l.refused = subject{}
		l.health.dropped++
		l.advanceLocked(s, next)
		return
	}
	m.tries++
	if l.successes > m.successes {
		m.failures, m.successes = m.failures+1, l.successes
	}
	if m.failures >= maxTries {
		l.health.dropped++
		l.advanceLocked(s, next)
		return
	}
	l.health.failure = f
	l.failures++
	l.pauseUntil = time.Now().Add(max(backoff(l.failures), f.Pause))
	l.queue.AddAfter(s, backoff(m.tries))
}

// isOfSignalLocked reports whether a refusal is the fault of the signal. One before any success, or right after that of another signal, is the
// sink's: a receiver that has another signing key refuses all of them.
func (l *lane) isOfSignalLocked(s subject) bool {
	return l.successes > 0 && (!l.refusing || l.refused == s)
}

// backoff is the pause after that many failures, spread so that sinks that failed together are not tried together.
func backoff(failures int) time.Duration {
	pause := maxPause
	if failures < 10 {
		pause = min(firstPause<<(failures-1), maxPause)
	}
	return time.Duration(float64(pause) * (0.8 + 0.2*rand.Float64()))
}

// state returns the health of the lane, and the instant before which nothing is left to tell.
func (l *lane) state(now time.Time) (h health, settled time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	settled = now
	for _, p := range l.pending {
		if p.since.Before(settled) {
			settled = p.since
		}
	}
	h = l.health
	if l.broken != nil {
		h.failure = l.broken
	}
	return h, settled
}
