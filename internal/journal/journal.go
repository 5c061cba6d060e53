// SPDX-License-Identifier: Apache-2.0

// Package journal keeps the turns of a run as MotorSteps: an append-only log that is the run's lock as well.
//
// The name of a step follows from run, attempt and index, so creating it is a compare-and-swap: whoever creates it
// carries the run on, and everybody else learns from AlreadyExists that somebody did.
package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// ErrNotYetGone says that the steps of a deleted run of the same name are still there. It passes by itself.
var ErrNotYetGone = errors.New("steps of a deleted run of the same name still exist")

// ErrMovedOn says that the journal has a step which this log did not know of. Loading it again finds it.
var ErrMovedOn = errors.New("the journal has moved on")

// Claim is the right to carry a run on.
type Claim struct {
	// Epoch counts the claims on the run; the highest is the valid one.
	Epoch int64
	// Worker is who holds it.
	Worker string
}

// Log is the journal of one attempt, held under a claim. It is used by one goroutine.
type Log struct {
	client client.Client
	// live reads past the cache, which lags behind and holds only the heads of steps.
	live    client.Reader
	run     *v1alpha1.MotorRun
	claim   Claim
	now     func() time.Time
	attempt int32
	sandbox v1alpha1.StepSandbox
	// steps of the attempt in order of their index, which is their place + 1 unless a step was deleted.
	steps []v1alpha1.MotorStep
}

// Load reads the journal of the run's current attempt. The reader must not be a cache: what it misses would be done twice.
// A *motorloop.Failure says that the attempt cannot be carried on; the Log that comes with it is good for End only.
func Load(ctx context.Context, c client.Client, reader client.Reader, run *v1alpha1.MotorRun, claim Claim, now func() time.Time) (*Log, error) {
	var list v1alpha1.MotorStepList
	if err := reader.List(ctx, &list, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}); err != nil {
		return nil, fmt.Errorf("list the steps of run %s: %w", run.Name, err)
	}
	steps := Of(run, list.Items)
	if len(steps) != len(list.Items) {
		// The first step of this run could not be written, and the model would be asked in vain until it can.
		return nil, fmt.Errorf("load the journal of run %s: %w", run.Name, ErrNotYetGone)
	}
	l := &Log{client: c, live: reader, run: run, claim: claim, now: now}
	for _, s := range steps {
		l.attempt = max(l.attempt, s.Spec.Attempt)
		if s.Spec.Sandbox != nil {
			l.sandbox = *s.Spec.Sandbox
		}
	}
	missing := int32(0)
	for _, s := range steps {
		if s.Spec.Attempt != l.attempt {
			continue
		}
		if n := l.next(); s.Spec.Index != n && missing == 0 {
			missing = n
		}
		l.steps = append(l.steps, s)
	}
	if missing > 0 && !l.Ended() {
		return l, internalError("The journal of the run lacks the MotorStep %s, which somebody deleted. "+
			"A run does not go on without knowing what it did: create it again.", StepName(run.Name, l.attempt, missing))
	}
	return l, nil
}

// next is the index of the step that follows the last one.
func (l *Log) next() int32 {
	if len(l.steps) == 0 {
		return 1
	}
	return l.steps[len(l.steps)-1].Spec.Index + 1
}

func internalError(format string, args ...any) *motorloop.Failure {
	return &motorloop.Failure{
		Category: motorloop.InfraFailure, Reason: motorloop.ReasonInternalError, Message: fmt.Sprintf(format, args...),
	}
}

// refused is err, or a Failure if the API server calls the step invalid: it would do so whenever the same is written.
func refused(s *v1alpha1.MotorStep, err error) error {
	if !apierrors.IsInvalid(err) {
		return err
	}
	return internalError("The API server does not take the MotorStep %s: %v. "+
		"Check that the CustomResourceDefinitions are those of the manager's version.", s.Name, err)
}

// Of picks the steps that belong to this very run, not to one of the same name, in the order of attempt and index.
func Of(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) []v1alpha1.MotorStep {
	own := make([]v1alpha1.MotorStep, 0, len(steps))
	for _, s := range steps {
		if metav1.IsControlledBy(&s, run) {
			own = append(own, s)
		}
	}
	slices.SortFunc(own, func(a, b v1alpha1.MotorStep) int {
		if a.Spec.Attempt != b.Spec.Attempt {
			return int(a.Spec.Attempt - b.Spec.Attempt)
		}
		return int(a.Spec.Index - b.Spec.Index)
	})
	return own
}

// Attempt is the attempt that the log records.
func (l *Log) Attempt() int32 { return l.attempt }

// Steps are the steps so far, oldest first.
func (l *Log) Steps() []v1alpha1.MotorStep { return l.steps }

// Ended says whether the attempt has its end in the journal: nothing more may be done in it.
func (l *Log) Ended() bool {
	if len(l.steps) == 0 {
		return false
	}
	last := l.steps[len(l.steps)-1].Spec
	return last.Type == v1alpha1.StepEnd || last.Final
}

// Sandbox is the sandbox that the last step names, its zero value before the first step.
func (l *Log) Sandbox() v1alpha1.StepSandbox { return l.sandbox }

// UseSandbox names the sandbox of all further steps.
func (l *Log) UseSandbox(s v1alpha1.StepSandbox) { l.sandbox = s }

// Turns gives the turns so far, oldest first.
func (l *Log) Turns() []*motorloop.Turn {
	turns := make([]*motorloop.Turn, 0, len(l.steps))
	for i := range l.steps {
		if l.steps[i].Spec.Type == v1alpha1.StepTurn {
			turns = append(turns, turnOf(&l.steps[i]))
		}
	}
	return turns
}

// Append creates the step of a turn. It is safe to repeat after an error: a step that this claim wrote for the same
// request counts as written. It fails with motorloop.ErrStale if a later claim wrote the step, and with ErrMovedOn if
// an earlier one did.
func (l *Log) Append(ctx context.Context, t *motorloop.Turn) error {
	return l.create(ctx, l.newStep(t.Index, turnSpec(t)))
}

// End records that the attempt ended without success.
func (l *Log) End(ctx context.Context, f *motorloop.Failure) error {
	return l.create(ctx, l.newStep(l.next(), v1alpha1.MotorStepSpec{
		Type: v1alpha1.StepEnd,
		Outcome: &v1alpha1.StepOutcome{
			Category: v1alpha1.FailureCategory(f.Category), Reason: f.Reason, Message: cut(f.Message, 4096), Retryable: f.Retryable,
		},
	}))
}

func (l *Log) create(ctx context.Context, s *v1alpha1.MotorStep) error {
	if s.Spec.Index != l.next() {
		return fmt.Errorf("step %s does not follow step %d", s.Name, l.next()-1)
	}
	err := l.client.Create(ctx, s)
	if apierrors.IsAlreadyExists(err) {
		err = l.adopt(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("create step %s: %w", s.Name, refused(s, err))
	}
	l.steps = append(l.steps, *s)
	return nil
}

// adopt decides whose the step is that stands where s was to be: ours, if an earlier create was carried out and its
// answer got lost.
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
		// A former holder of the run wrote it before it was fenced off. What it decided stands, and is carried on here.
		return ErrMovedOn
	}
	*s = found
	return nil
}

// Settle writes the results that the turn has so far into its step. A result that is there already stays.
func (l *Log) Settle(ctx context.Context, t *motorloop.Turn) error {
	if int(t.Index) > len(l.steps) {
		return fmt.Errorf("step %d was never appended", t.Index)
	}
	s := &l.steps[t.Index-1]
	for {
		base := s.DeepCopy()
		settle(s, t, l.now())
		err := l.client.Status().Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			adoptResults(t, s)
			return nil
		}
		*s = *base
		if !apierrors.IsConflict(err) {
			return fmt.Errorf("settle step %s: %w", s.Name, refused(s, err))
		}
		// Somebody settled the step meanwhile, or an earlier try of ours was carried out and its answer got lost.
		if err := l.live.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return fmt.Errorf("read step %s again: %w", base.Name, err)
		}
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

// StepName is the name of a step.
func StepName(run string, attempt, index int32) string {
	return fmt.Sprintf("%s-a%d-s%d", run, attempt, index)
}

func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max-len("…")], "") + "…"
}
