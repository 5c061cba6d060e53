// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
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
	// broken is why the sink cannot be told anything.
	broken *deliver.Failure
	// runs selects the runs that it is told of, nil for all.
	runs labels.Selector
	// target has the values of the Secrets as they were read last.
	target   deliver.Target
	targetAt time.Time
	// told is what the sink was told about each object that exists. It has one entry for each of the cache's.
	told map[subject]*memory
	// pending are the subjects that the lane has to look at.
	pending map[subject]pending
	// reminders are when the receiver is to be told an ask again. They keep the settled instant from passing one that is due.
	reminders map[subject]time.Time
	// flood holds asks back that are too many.
	flood flood
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
		reminders: map[subject]time.Time{},
	}
}

// configure sets the sink as the spec has it. What was changed may mend it, so it is tried at once.
func (l *lane) configure(sink channel, newSender func(*channel) (Sender, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.sender != nil || l.broken != nil) && same(&l.sink, &sink) {
		return
	}
	l.equipLocked(&sink, newSender)
	again := l.sink.receiver != nil && sink.receiver != nil &&
		(l.sink.remind() != sink.remind() || !equality.Semantic.DeepEqual(l.sink.receiver.RunSelector, sink.receiver.RunSelector))
	l.sink, l.targetAt, l.failures, l.pauseUntil = sink, time.Time{}, 0, time.Time{}
	for s := range l.pending {
		l.queue.Add(s)
	}
	if again {
		// Of which runs and asks there is more to tell, follows from them.
		for s, m := range l.told {
			if s.kind == kindRun && !m.cursor.Ended {
				l.queue.Add(s)
			}
		}
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// equipLocked makes what a sink is told with, as far as the present one does not do.
func (l *lane) equipLocked(sink *channel, newSender func(*channel) (Sender, error)) {
	if l.sender == nil || l.sink.CABundle != sink.CABundle || l.sink.mails() != sink.mails() {
		if l.sender != nil {
			l.sender.Close()
		}
		var err error
		if l.sender, err = newSender(sink); err != nil {
			l.sender, l.broken = nil, unusable(err)
		}
	}
	if l.sender != nil {
		l.broken = nil
	}
	var err error
	if l.runs, err = sink.selector(); err != nil {
		l.runs, l.broken = nil, unusable(fmt.Errorf("runSelector: %w", err))
	}
}

func unusable(err error) *deliver.Failure {
	return &deliver.Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The sink cannot be used: " + err.Error() + "."}
}

// selects reports whether the sink is told of a run.
func (l *lane) selects(run *v1alpha1.MotorRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.selectsLocked(run)
}

func (l *lane) selectsLocked(run *v1alpha1.MotorRun) bool {
	return l.runs == nil || l.runs.Matches(labels.Set(run.Labels))
}

// wants reports whether the sink is told an event.
func (l *lane) wants(e v1alpha1.SignalEvent) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sink.Events) == 0 || slices.Contains(l.sink.Events, e)
}

// remind returns how long before the deadline of an ask the receiver is told it again, 0 for never.
func (l *lane) remind() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sink.remind()
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
// It reports whether the end is dropped.
func (l *lane) depart(s subject, last *v1alpha1.MotorRun, now time.Time) (dropped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.told[s]
	if s.kind != kindRun || m != nil && m.cursor.Ended || last != nil && !l.selectsLocked(last) {
		l.forgetLocked(s)
		return false
	}
	if last == nil || len(l.gone) >= maxGone {
		l.health.dropped++
		l.forgetLocked(s)
		return true
	}
	if end, ended := signal.EndOf(last); ended && end.Before(l.from) {
		l.forgetLocked(s)
		return false
	}
	l.gone[s] = signal.Kept(last, len(l.gone) < maxWhole)
	l.touchLocked(s, now)
	return false
}

func (l *lane) forgetLocked(s subject) {
	delete(l.told, s)
	delete(l.pending, s)
	delete(l.gone, s)
	delete(l.reminders, s)
	l.flood.release(s)
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

// awaken has a subject looked at when a reminder is due: in a while, or never if at is the zero time.
func (l *lane) awaken(s subject, at, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.IsZero() {
		delete(l.reminders, s)
		return
	}
	l.reminders[s] = at
	l.queue.AddAfter(s, max(at.Sub(now), time.Second))
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
	l.tookLocked(now)
}

func (l *lane) tookLocked(now time.Time) {
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
// sink takes others: it would be tried for ever. Failures of a time in which the sink takes nothing are no fault of the signal. It reports whether the
// signal is dropped.
func (l *lane) failed(s subject, next signal.Cursor, f *deliver.Failure, now time.Time) (dropped bool) {
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
			return false
		}
		l.refused = subject{}
		l.health.dropped++
		l.advanceLocked(s, next)
		return true
	}
	m.tries++
	if l.successes > m.successes {
		m.failures, m.successes = m.failures+1, l.successes
	}
	if m.failures >= maxTries {
		l.health.dropped++
		l.advanceLocked(s, next)
		return true
	}
	l.health.failure = f
	l.failures++
	l.pauseUntil = time.Now().Add(max(backoff(l.failures), f.Pause))
	l.queue.AddAfter(s, backoff(m.tries))
	return false
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
	for _, at := range l.reminders {
		if at.Before(settled) {
			settled = at
		}
	}
	h = l.health
	if l.broken != nil {
		h.failure = l.broken
	}
	return h, settled
}
