// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Append creates the step of a turn. It is safe to repeat after an error: a step that this claim wrote for the same
// request counts as written. It fails with motorloop.ErrStale if a later claim wrote the step, and with ErrMovedOn if
// an earlier one did.
func (l *Log) Append(ctx context.Context, t *turn.Turn) error {
	s := l.newStep(t.Index, turnSpec(t))
	if err := l.create(ctx, s); err != nil || s.Spec.Type != v1alpha1.StepSummary {
		return err
	}
	// A summary has no further result, and a step is in flight until its status says otherwise.
	return l.Settle(ctx, t)
}

// End records that the attempt ended without success, and the other outcome: the partial result, the hint, and the usage of the model calls for
// them.
func (l *Log) End(ctx context.Context, f *outcome.Failure, extra outcome.Outcome) error {
	return l.create(ctx, l.newStep(l.next(), endSpec(f, extra)))
}

func (l *Log) create(ctx context.Context, s *v1alpha1.MotorStep) error {
	if s.Spec.Index != l.next() {
		return fmt.Errorf("step %s does not follow step %d", s.Name, l.next()-1)
	}
	written, err := l.write(ctx, s)
	if err != nil {
		return err
	}
	l.steps = append(l.steps, *written)
	return nil
}

// write creates a step and returns it as it is stored.
func (l *Log) write(ctx context.Context, s *v1alpha1.MotorStep) (*v1alpha1.MotorStep, error) {
	err := l.persist(ctx, func() error {
		created := s.DeepCopy()
		err := l.client.Create(ctx, created)
		switch {
		case apierrors.IsAlreadyExists(err):
			return l.adopt(ctx, s)
		case err == nil:
			s = created
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create step %s: %w", s.Name, refused(s, err))
	}
	return s, nil
}

// adopt decides which loop wrote the step that exists under the name of s. It is this loop's own if an earlier create was carried out and its
// answer was lost.
func (l *Log) adopt(ctx context.Context, s *v1alpha1.MotorStep) error {
	var found v1alpha1.MotorStep
	if err := l.live.Get(ctx, client.ObjectKeyFromObject(s), &found); err != nil {
		return err
	}
	switch {
	case !metav1.IsControlledBy(&found, l.run):
		return ErrNotYetGone
	case found.Spec.Epoch > l.claim.Epoch:
		return motorloop.ErrStale
	case !equality.Semantic.DeepEqual(found.Spec, s.Spec):
		// A former holder of the run wrote it before it was fenced off. Its decision stands, and this worker carries it on.
		return ErrMovedOn
	}
	*s = found
	return nil
}

// Settle writes the outcome of the turn's calls so far into its step: results, and executions of unknown outcome. Outcomes that are recorded
// already stay, and Settle copies them into the turn.
func (l *Log) Settle(ctx context.Context, t *turn.Turn) error {
	if int(t.Index) > len(l.steps) {
		return fmt.Errorf("step %d was never appended", t.Index)
	}
	s := &l.steps[t.Index-1]
	if err := l.notePrograms(ctx, t.Index, s.Name); err != nil {
		return err
	}
	if err := l.update(ctx, s, func() {
		settle(s, t)
		if l.programs != nil {
			s.Status.Background = programsOf(s, l.programs, t.Index)
		}
	}); err != nil {
		return fmt.Errorf("settle step %s: %w", s.Name, refused(s, err))
	}
	l.programs = nil
	adoptStatus(t, s)
	t.Notes = l.notes(t.Index)
	return nil
}

// SettleLater is Settle, but for the write. It returns nil for a step about which the journal has entries already, or whose programs in the background
// were asked for: what it adds to the turn is known only when it is written.
func (l *Log) SettleLater(t *turn.Turn) (write func(context.Context) error) {
	if int(t.Index) > len(l.steps) || l.programs != nil || !isBlank(&l.steps[t.Index-1].Status) {
		return nil
	}
	s := &l.steps[t.Index-1]
	base := s.DeepCopy()
	settle(s, t)
	adoptStatus(t, s)
	t.Notes = l.notes(t.Index)
	return func(ctx context.Context) error {
		err := l.persist(ctx, func() error { return l.patchOnly(ctx, base, s) })
		if err != nil {
			*s = *base
			return fmt.Errorf("settle step %s: %w", s.Name, refused(s, err))
		}
		return nil
	}
}

// isBlank reports whether nothing has become of a step yet.
func isBlank(st *v1alpha1.MotorStepStatus) bool {
	return len(st.Results)+len(st.Asks)+len(st.Unknown)+len(st.Background) == 0 && st.Left == nil && st.Closed == nil
}

// patchOnly writes the status of s, which was that of base. It fails with ErrMovedOn if it is another one by now.
func (l *Log) patchOnly(ctx context.Context, base, s *v1alpha1.MotorStep) error {
	for {
		written := s.DeepCopy()
		err := l.client.Status().Patch(ctx, written, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			*s = *written
			return nil
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		var found v1alpha1.MotorStep
		if err := l.live.Get(ctx, client.ObjectKeyFromObject(s), &found); err != nil {
			return fmt.Errorf("read it again: %w", err)
		}
		switch {
		case equality.Semantic.DeepEqual(found.Status, s.Status):
			// An earlier try was carried out, and its answer was lost.
			*s = found
			return nil
		case !equality.Semantic.DeepEqual(found.Status, base.Status):
			return ErrMovedOn
		}
		// Only its metadata was changed.
		base.ObjectMeta, s.ObjectMeta = found.ObjectMeta, *found.ObjectMeta.DeepCopy()
	}
}

// update writes a change of a step's status, starting from the present one. If that fails, the step is as it was.
func (l *Log) update(ctx context.Context, s *v1alpha1.MotorStep, change func()) error {
	return l.persist(ctx, func() error {
		for {
			base := s.DeepCopy()
			change()
			err := l.client.Status().Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
			if err == nil {
				return nil
			}
			*s = *base
			if !apierrors.IsConflict(err) {
				return err
			}
			// Another writer wrote the step meanwhile, or an earlier try of this one was carried out and its answer was lost.
			var found v1alpha1.MotorStep
			if err := l.live.Get(ctx, client.ObjectKeyFromObject(s), &found); err != nil {
				return fmt.Errorf("read it again: %w", err)
			}
			*s = found
		}
	})
}

const (
	// tries is the number of tries of a write. After the last one the loop is given up, and an answer of the model that was paid for is lost.
	tries = 5
	// firstPause between two tries; each further one is four times as long, the last 3.2 s.
	firstPause = 50 * time.Millisecond
)

// persist carries out a write, and again if it failed in a way that may pass at once. The write must be one that can be
// repeated.
func (l *Log) persist(ctx context.Context, write func() error) error {
	pause := firstPause
	for n := 1; ; n++ {
		err := write()
		if err == nil {
			l.writes++
			return nil
		}
		if n == tries || !passes(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(pause):
			pause *= 4
		case <-ctx.Done():
			return err
		}
	}
}

// passes reports whether the same request may succeed when it is sent again: it did not reach the API server or had no answer, or the server was
// overloaded.
func passes(err error) bool {
	switch apierrors.ReasonForError(err) { //nolint:exhaustive // all other reasons are answers
	case metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout, metav1.StatusReasonTooManyRequests,
		metav1.StatusReasonInternalError, metav1.StatusReasonServiceUnavailable:
		return true
	case metav1.StatusReasonUnknown:
		return !errors.Is(err, motorloop.ErrStale) && !errors.Is(err, ErrMovedOn) && !errors.Is(err, ErrNotYetGone)
	}
	return false
}

// refused returns err, or a Failure if the API server calls the step invalid: it would do so whenever the same is written.
func refused(s *v1alpha1.MotorStep, err error) error {
	if !apierrors.IsInvalid(err) {
		return err
	}
	return internalError("The API server does not take the MotorStep %s: %v. "+
		"Check that the CustomResourceDefinitions are those of the manager's version.", s.Name, err)
}

func internalError(format string, args ...any) *outcome.Failure {
	return &outcome.Failure{
		Category: outcome.InfraFailure, Reason: outcome.ReasonInternalError, Message: fmt.Sprintf(format, args...),
	}
}

func (l *Log) newStep(index int32, spec v1alpha1.MotorStepSpec) *v1alpha1.MotorStep {
	spec.Attempt, spec.Index, spec.Epoch, spec.Worker = l.attempt, index, l.claim.Epoch, l.claim.Worker
	if l.sandbox.PodUID != "" {
		spec.Sandbox = new(l.sandbox)
	}
	return &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name:      StepName(l.run.Name, l.attempt, index),
			Namespace: l.run.Namespace,
			Labels: map[string]string{
				v1alpha1.LabelRun:       l.run.Name,
				v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
			},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(l.run, v1alpha1.GroupVersion.WithKind("MotorRun")),
			},
		},
		Spec: spec,
	}
}
