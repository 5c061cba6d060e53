// SPDX-License-Identifier: Apache-2.0

// Package journal stores the turns of a run as MotorSteps: an append-only log that is the run's lock as well.
//
// The name of a step follows from run, attempt and index, so creating it is a compare-and-swap. The worker that creates the step carries the run
// on. Every other worker gets AlreadyExists and so learns that it lost.
package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// ErrNotYetGone means that the steps of a deleted run of the same name still exist. It is transient: the controller does not begin a run whose name
// has steps that nothing deletes.
var ErrNotYetGone = errors.New("steps of a deleted run of the same name still exist")

// ErrMovedOn means that the journal has a step which this log did not know. Loading the journal again finds it.
var ErrMovedOn = errors.New("the journal has moved on")

// Claim is the right to carry a run on.
type Claim struct {
	// Epoch counts the claims on the run; the highest is the valid one.
	Epoch int64
	// Worker is who holds it.
	Worker string
}

// Log is the journal of one attempt, held under a claim. It is used by one goroutine at a time.
type Log struct {
	client client.Client
	// live reads past the cache, which lags behind and holds only the heads of steps.
	live    client.Reader
	run     *v1alpha1.MotorRun
	claim   Claim
	now     func() time.Time
	attempt int32
	sandbox v1alpha1.StepSandbox
	// programs is the sandbox's last report on the programs in the background, nil if it was not asked.
	programs []toolapi.Program
	// before are the steps of the attempts before this one.
	before []v1alpha1.MotorStep
	// steps of the attempt in order of their index, which is their position + 1 unless a step was deleted.
	steps []v1alpha1.MotorStep
	// outages are the steps of outages of the model, of all attempts. None is the record of an answer, and none is in the way of one.
	outages []v1alpha1.MotorStep
	// writes counts the writes of this log.
	writes int
}

// Load reads the journal of an attempt of the run. The reader must not be a cache: a step that it misses would be done twice. Load returns
// motorloop.ErrStale if a later claim has written in the journal, or a later attempt has begun: then another worker carries the run on. A
// *outcome.Failure means that the attempt cannot be carried on; the Log that is returned with it is usable for End only.
func Load(
	ctx context.Context, c client.Client, reader client.Reader, run *v1alpha1.MotorRun, attempt int32, claim Claim, now func() time.Time,
) (*Log, error) {
	var list v1alpha1.MotorStepList
	if err := reader.List(ctx, &list, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}); err != nil {
		return nil, fmt.Errorf("list the steps of run %s: %w", run.Name, err)
	}
	steps := Of(run, list.Items)
	if len(steps) != len(list.Items) {
		// The first step of this run could not be written, and the model would be asked in vain until it can.
		return nil, fmt.Errorf("load the journal of run %s: %w", run.Name, ErrNotYetGone)
	}
	l := &Log{client: c, live: reader, run: run, attempt: attempt, claim: claim, now: now}
	missing := int32(0)
	for _, s := range steps {
		if s.Spec.Attempt > attempt || s.Spec.Epoch > claim.Epoch {
			return nil, fmt.Errorf("load the journal of run %s: step %s of epoch %d: %w", run.Name, s.Name, s.Spec.Epoch, motorloop.ErrStale)
		}
		if s.Spec.Type == v1alpha1.StepOutage {
			l.outages = append(l.outages, s)
			continue
		}
		if s.Spec.Sandbox != nil {
			l.sandbox = *s.Spec.Sandbox
		}
		if s.Spec.Attempt < attempt {
			l.before = append(l.before, s)
			continue
		}
		if n := l.next(); s.Spec.Index != n && missing == 0 {
			missing = n
		}
		l.steps = append(l.steps, s)
	}
	if missing > 0 && !l.Ended() {
		return l, internalError("The journal of the run lacks the MotorStep %s, which was deleted. "+
			"A run does not go on without knowing what it did: create it again.", StepName(run.Name, attempt, missing))
	}
	return l, nil
}

// next returns the index of the step that follows the last one.
func (l *Log) next() int32 {
	if len(l.steps) == 0 {
		return 1
	}
	return l.steps[len(l.steps)-1].Spec.Index + 1
}

// Of returns the steps that belong to this very run, not to one of the same name, in the order of attempt and index.
func Of(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) []v1alpha1.MotorStep {
	own := make([]v1alpha1.MotorStep, 0, len(steps))
	for _, s := range steps {
		if metav1.IsControlledBy(&s, run) {
			own = append(own, s)
		}
	}
	slices.SortFunc(own, inOrder)
	return own
}

// inOrder compares by attempt and index. The outage of a step comes before the step.
func inOrder(a, b v1alpha1.MotorStep) int {
	place := func(s v1alpha1.MotorStep) int {
		if s.Spec.Type == v1alpha1.StepOutage {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Spec.Attempt, b.Spec.Attempt), cmp.Compare(a.Spec.Index, b.Spec.Index), cmp.Compare(place(a), place(b)))
}

// Attempt returns the attempt that the log records.
func (l *Log) Attempt() int32 { return l.attempt }

// Steps returns the steps of the attempt so far, oldest first.
func (l *Log) Steps() []v1alpha1.MotorStep { return l.steps }

// AllSteps returns the steps of the run so far, those of the attempts before this one first, without outages of the model. The caller must not change
// them.
func (l *Log) AllSteps() []v1alpha1.MotorStep {
	if len(l.before) == 0 {
		// Each call of a tool asks for them. A copy of a thousand steps has a megabyte.
		return l.steps
	}
	return slices.Concat(l.before, l.steps)
}

// Everything returns AllSteps with the outages, each before the step that waited for the model.
func (l *Log) Everything() []v1alpha1.MotorStep {
	all := slices.Concat(l.before, l.steps, l.outages)
	slices.SortStableFunc(all, inOrder)
	return all
}

// Writes returns the number of writes of this log to the journal. It shows whether the journal has moved since it was loaded.
func (l *Log) Writes() int { return l.writes }

// Ended reports whether the attempt has its end in the journal: nothing more may be done in it.
func (l *Log) Ended() bool {
	if len(l.steps) == 0 {
		return false
	}
	last := l.steps[len(l.steps)-1].Spec
	return last.Type == v1alpha1.StepEnd || last.Final
}

// Sandbox returns the sandbox that the last step names, of whichever attempt, and its zero value before the first step. An attempt works in the
// workspace of the one before it, unless that was lost.
func (l *Log) Sandbox() v1alpha1.StepSandbox { return l.sandbox }

// UseSandbox names the sandbox of all further steps.
func (l *Log) UseSandbox(s v1alpha1.StepSandbox) { l.sandbox = s }

// Turns returns the turns of the attempt so far, oldest first.
func (l *Log) Turns() []*turn.Turn {
	turns := make([]*turn.Turn, 0, len(l.steps))
	for i := range l.steps {
		if l.steps[i].Spec.Type != v1alpha1.StepEnd {
			t := turnOf(&l.steps[i])
			t.Notes = l.notes(t.Index)
			turns = append(turns, t)
		}
	}
	return turns
}

// StepName returns the name of a step. Attempts have at most 2 digits and indexes at most 4, as the API bounds them, so that names sort as the
// journal does, but for an outage: its name has the end -outage, and comes after that of its step.
func StepName(run string, attempt, index int32) string {
	return fmt.Sprintf("%s-a%02d-s%04d", run, attempt, index)
}

// OutageName returns the name of the step of the outage that a step waited for.
func OutageName(run string, attempt, index int32) string {
	return StepName(run, attempt, index) + outageSuffix
}
