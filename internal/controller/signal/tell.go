// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
)

const (
	// secretsFor is how long the values of a sink's Secrets count. A value that was replaced is used after that.
	secretsFor = time.Minute
	// maxAttempts is the most attempts of a run, as the API bounds them.
	maxAttempts = 10
)

// tell tells the sink of a lane the next signal about a subject. It returns an error if the API server did not answer.
func (r *Reconciler) tell(ctx context.Context, l *lane, s subject) error {
	if s == theDigest {
		return r.tellDigest(ctx, l)
	}
	c, gone, mark := l.begin(s)
	got, err := r.next(ctx, l, s, c, gone)
	if apierrors.IsNotFound(err) {
		// The lane is told of its deletion.
		l.leave(s, mark)
		return nil
	}
	if err != nil {
		return err
	}
	if got.what == nil {
		l.awaken(s, got.wake, r.Now())
		l.settle(s, got.cursor, gone != nil, mark)
		return nil
	}
	if l.await(ctx) {
		// What was to be told may be old by now.
		l.queue.Add(s)
		return nil
	}
	if l.holds(s, got.what, r.Now()) {
		return nil
	}
	err = r.send(ctx, l, got.what)
	var f *deliver.Failure
	switch {
	case err == nil:
		l.took(s, got.cursor, r.Now())
		l.counts(got.what)
		r.count(l, Taken)
	case errors.As(err, &f):
		r.count(l, Failed)
		if l.failed(s, got.cursor, f, r.Now()) {
			r.count(l, Dropped)
		}
	default:
		return err
	}
	return nil
}

// found is what there is to tell about a subject.
type found struct {
	// what is nil if there is nothing, and wake is then when to look again, the zero time for no instant that is known.
	what *signal.Signal
	wake time.Time
	// cursor is that of a receiver that was told.
	cursor signal.Cursor
}

// next returns the next signal about a subject. gone is a run that was deleted. The error is NotFound if there is no such object any more.
func (r *Reconciler) next(ctx context.Context, l *lane, s subject, c signal.Cursor, gone *v1alpha1.MotorRun) (found, error) {
	if gone != nil {
		what, next := signal.Run{MotorRun: gone, Deleted: true}.Next(c, l.wants)
		return found{what: what, cursor: next}, nil
	}
	if s.kind == kindSkill {
		sk := &v1alpha1.Skill{}
		if err := r.get(ctx, s, sk); err != nil {
			return found{}, err
		}
		what, next := signal.NextOfSkill(sk, c, l.wants)
		return found{what: what, cursor: next}, nil
	}
	run := &v1alpha1.MotorRun{}
	if err := r.get(ctx, s, run); err != nil {
		return found{}, err
	}
	if !l.selects(run) {
		// If it is selected later, what happened before is old, but for asks that are open then.
		c.From, c.Once = r.Now().Add(time.Nanosecond), false
		return found{cursor: c}, nil
	}
	known := signal.Run{MotorRun: run, Remind: l.remind(), Now: r.Now()}
	if _, ended := signal.EndOf(run); !ended && l.wants(v1alpha1.SignalRunProgress) {
		var err error
		if known.Step, err = r.newest(ctx, run, c.Step); err != nil {
			return found{}, err
		}
	}
	what, next := known.Next(c, l.wants)
	got := found{what: what, cursor: next}
	if what == nil && l.wants(v1alpha1.SignalRunAwaitingInput) {
		got.wake = known.Wake(next)
	}
	return got, nil
}

// get reads a subject. An object of its name with another UID is another one.
func (r *Reconciler) get(ctx context.Context, s subject, into client.Object) error {
	if err := r.Get(ctx, s.key(), into); err != nil {
		return err
	}
	if into.GetUID() != s.uid {
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource(string(s.kind)).GroupResource(), s.name)
	}
	return nil
}

// newest returns the newest answer of the model after a position, nil if there is none. The names of steps follow from their positions, so it looks
// at no others.
func (r *Reconciler) newest(ctx context.Context, run *v1alpha1.MotorRun, after signal.Position) (*v1alpha1.MotorStep, error) {
	var found *v1alpha1.MotorStep
	at := signal.Position{Attempt: max(after.Attempt, 1), Index: after.Index + 1}
	for at.Attempt <= maxAttempts {
		s := &v1alpha1.MotorStep{}
		err := r.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: journal.StepName(run.Name, at.Attempt, at.Index)}, s)
		switch {
		case apierrors.IsNotFound(err):
			if at.Index == 1 && at.Attempt > max(after.Attempt, 1) {
				return found, nil
			}
			at = signal.Position{Attempt: at.Attempt + 1, Index: 1}
			continue
		case err != nil:
			return nil, fmt.Errorf("get a step: %w", err)
		case !metav1.IsControlledBy(s, run):
			return found, nil
		}
		if s.Spec.Type == v1alpha1.StepTurn && !s.Spec.Checks && !s.Spec.Final {
			found = s
		}
		at.Index++
	}
	return found, nil
}

// send posts a signal with the Secrets of the sink. Its error is a *deliver.Failure, or one of the API server or the context.
func (r *Reconciler) send(ctx context.Context, l *lane, what *signal.Signal) error {
	l.mu.Lock()
	sink, sender, broken, to, readAt := l.sink, l.sender, l.broken, l.target, l.targetAt
	l.mu.Unlock()
	if broken != nil {
		return broken
	}
	if sender == nil {
		return errors.New("the lane has no sender")
	}
	if readAt.IsZero() || time.Since(readAt) > secretsFor {
		var err error
		if to, err = sink.target(ctx, l.namespace, r.Secrets); err != nil {
			if p, ok := cortex.AsProblem(err); ok {
				return &deliver.Failure{Reason: p.Reason, Message: p.Message}
			}
			return fmt.Errorf("find the Secrets of a sink: %w", err)
		}
		l.remember(to, &sink)
	}
	err := sender.Send(ctx, to, what)
	if f, ok := errors.AsType[*deliver.Failure](err); ok && f.Reason == v1alpha1.ReasonSinkRefuses {
		// Its Secrets may have been replaced.
		l.remember(deliver.Target{}, &sink)
	}
	return err
}

// remember keeps the target of a sink, unless the sink was changed meanwhile. The zero target is read again.
func (l *lane) remember(to deliver.Target, of *channel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !same(&l.sink, of) {
		return
	}
	l.target, l.targetAt = to, time.Time{}
	if to.URL != "" {
		l.targetAt = time.Now()
	}
}
