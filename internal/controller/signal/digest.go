// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
)

const (
	// kindDigest is of the subject that stands for the asks that a lane holds back.
	kindDigest kind = "Digest"
	// maxAsksOf is how many asks of one run a digest has. A run has no more that are open.
	maxAsksOf = 64
)

// theDigest is the subject of a lane's digest.
var theDigest = subject{kind: kindDigest}

// part is what a digest has of one subject.
type part struct {
	subject subject
	// next is the cursor of a receiver that was told them.
	next signal.Cursor
}

// holds reports whether a signal about a subject waits for a digest. The digest comes then by itself.
func (l *lane) holds(s subject, what *signal.Signal, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.sink.digest()
	if d == nil || what.Event != v1alpha1.SignalRunAwaitingInput {
		l.flood.release(s)
		return false
	}
	// Deadlines are of the API's clock, pauses of this process's.
	deadline, here := deadlineOf(what), time.Now()
	if !deadline.IsZero() {
		deadline = here.Add(deadline.Sub(now))
	}
	if !l.flood.hold(s, d, deadline, here) {
		return false
	}
	l.queue.AddAfter(theDigest, l.flood.due.Sub(here))
	return true
}

// counts notes that the receiver was told an ask by a message of its own.
func (l *lane) counts(what *signal.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.sink.digest(); d != nil && what.Event == v1alpha1.SignalRunAwaitingInput {
		l.flood.count(d, time.Now())
	}
}

// ripe returns the subjects of the digest that is due, those that wait longest first. Before its time it returns none, and has the digest looked at then.
func (l *lane) ripe() []subject {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.flood.held) == 0 {
		return nil
	}
	if left := time.Until(l.flood.due); left > 0 {
		l.queue.AddAfter(theDigest, left)
		return nil
	}
	held := make([]subject, 0, len(l.flood.held))
	for s := range l.flood.held {
		held = append(held, s)
	}
	slices.SortFunc(held, func(a, b subject) int {
		return cmp.Or(l.pending[a].since.Compare(l.pending[b].since), cmp.Compare(a.name, b.name), cmp.Compare(a.uid, b.uid))
	})
	return held
}

// tellDigest tells a receiver the asks that were held back. It returns an error if the API server did not answer.
func (r *Reconciler) tellDigest(ctx context.Context, l *lane) error {
	held := l.ripe()
	if len(held) == 0 {
		return nil
	}
	if l.await(ctx) {
		l.queue.Add(theDigest)
		return nil
	}
	parts := make([]part, 0, len(held))
	asks := signal.Gathering{Namespace: l.namespace}
	for _, s := range held {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p, of, err := r.partOf(ctx, l, s)
		if err != nil {
			return err
		}
		if len(of) == 0 {
			// It was answered meanwhile, or the run has ended: what there is to tell is looked at as ever.
			l.letGo(s)
			continue
		}
		parts = append(parts, p)
		for _, ask := range of {
			asks.Add(ask)
		}
	}
	what := asks.Signal(r.Now())
	if what == nil {
		return nil
	}
	err := r.send(ctx, l, what)
	var f *deliver.Failure
	switch {
	case err == nil:
		l.tookDigest(parts, r.Now())
		r.count(l, Taken)
	case errors.As(err, &f):
		r.count(l, Failed)
		if l.failed(theDigest, signal.Cursor{}, f, r.Now()) {
			l.passOver(parts, asks.Count())
			r.count(l, Dropped)
		}
	default:
		return err
	}
	return nil
}

// partOf returns what a digest has of a subject, and the asks of it that the receiver is to be told.
func (r *Reconciler) partOf(ctx context.Context, l *lane, s subject) (part, []*signal.Signal, error) {
	c, gone, _ := l.begin(s)
	p := part{subject: s, next: c}
	var asks []*signal.Signal
	for len(asks) < maxAsksOf {
		got, err := r.next(ctx, l, s, p.next, gone)
		if apierrors.IsNotFound(err) {
			return p, nil, nil
		}
		if err != nil {
			return p, nil, err
		}
		if got.what == nil || got.what.Event != v1alpha1.SignalRunAwaitingInput {
			break
		}
		asks, p.next = append(asks, got.what), got.cursor
	}
	return p, asks, nil
}

// letGo has a subject looked at that waits for no digest any more.
func (l *lane) letGo(s subject) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flood.release(s)
	l.queue.Add(s)
}

// tookDigest notes that the receiver has taken a digest.
func (l *lane) tookDigest(parts []part, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releaseLocked(parts)
	l.tookLocked(now)
}

// passOver notes that a digest of that many asks was dropped. One of them is counted already.
func (l *lane) passOver(parts []part, asks int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releaseLocked(parts)
	l.health.dropped += int64(asks - 1)
}

func (l *lane) releaseLocked(parts []part) {
	for _, p := range parts {
		l.flood.release(p.subject)
		l.advanceLocked(p.subject, p.next)
	}
	delete(l.told, theDigest)
	l.queue.Forget(theDigest)
}
