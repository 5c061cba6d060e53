// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/energy"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

// Drain drains the base of a run that has passed every other check and has a slot. If there is too little energy, nothing is drained: the run waits, or ends
// as the end that is returned says. A run that is drained already, by a pass whose write of the run failed, drains nothing more.
func (l *Ledger) Drain(ctx context.Context, s *pass.Run) (goOn bool, end *runpolicy.End, err error) {
	kind := energy.KindOf(s.Run)
	if l == nil || kind == "" {
		return true, nil, nil
	}
	c, err := cortex.Get(ctx, l.Client, s.Run.Namespace)
	if err != nil || c.Spec.Energy == nil {
		return err == nil, nil, err
	}
	behind, err := l.behind(ctx, c.Spec.Energy, s.Run, kind)
	if err != nil {
		return false, nil, err
	}
	var (
		cost     *v1alpha1.RunEnergy
		shortage *energy.Shortage
		spec     *v1alpha1.Energy
		overdue  error
	)
	err = l.change(ctx, s.Run.Namespace, func(b *book) (bool, error) {
		known := energy.Find(b.status, string(s.Run.UID)) != nil
		if !known {
			if overdue = l.confirm(ctx, s.Run); overdue != nil {
				// The pass is too late, and is no later for another try.
				return false, nil //nolint:nilerr // it is returned below
			}
		}
		has := b.status.Level
		rates, short := energy.Drain(b.spec, b.status, s.Run, b.now)
		if short == nil && !known && behind != "" {
			short = energy.Wait(b.spec, has, kind, behind)
		}
		if spec, shortage = b.spec, short; short != nil {
			return false, nil
		}
		cost = &v1alpha1.RunEnergy{EnergyRates: rates}
		b.drained = []drained{{kind, energy.BaseOf(&rates)}}
		return !known, nil
	})
	if err = cmp.Or(err, overdue); err != nil {
		return false, nil, err
	}
	if shortage != nil {
		return false, tire(s, spec, kind, shortage), nil
	}
	s.Run.Status.Energy = cost
	return true, nil, nil
}

// behind returns the name of a run that waits for energy, comes before this one, and needs no more: "" if there is none. All runs that wait are woken at the
// same time, and the first one that is looked at would take what is there.
func (l *Ledger) behind(ctx context.Context, spec *v1alpha1.Energy, run *v1alpha1.MotorRun, kind v1alpha1.EnergyKind) (string, error) {
	if spec.WhenTired == v1alpha1.TiredReject || !runpolicy.HasModel(run) {
		return "", nil
	}
	runs, err := pass.RunsOf(ctx, l.Client, run.Namespace)
	if err != nil {
		return "", err
	}
	need := energy.RowOf(spec, kind).Need()
	for _, other := range runpolicy.TiredBefore(run, runs) {
		if energy.RowOf(spec, energy.KindOf(reach.Effective(other))).Need() <= need {
			return other.Name, nil
		}
	}
	return "", nil
}

// confirm fails with a conflict unless the run still waits to be accepted, by the API server itself. The ledger forgets the runs that were settled long ago.
// A leader that was held up, and has the run as it was before another leader accepted and ended it, would drain it a second time. The ledger was read before,
// so a change of the run after this is a change of the ledger too.
func (l *Ledger) confirm(ctx context.Context, run *v1alpha1.MotorRun) error {
	now := &v1alpha1.MotorRun{}
	err := l.Live.Get(ctx, client.ObjectKeyFromObject(run), now)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get the run: %w", err)
	}
	if err == nil && now.UID == run.UID && now.DeletionTimestamp.IsZero() && !pass.IsAccepted(now) && !pass.IsFinished(now) {
		return nil
	}
	return apierrors.NewConflict(v1alpha1.SchemeGroupVersion.WithResource("motorruns").GroupResource(), run.Name,
		errors.New("the run does not wait to be accepted any more"))
}

// tire has the run wait until there is enough energy, or returns its end.
func tire(s *pass.Run, spec *v1alpha1.Energy, kind v1alpha1.EnergyKind, short *energy.Shortage) *runpolicy.End {
	message := tiredMessage(s.Run, spec, kind, short)
	if spec.WhenTired == v1alpha1.TiredReject {
		return &runpolicy.End{Phase: v1alpha1.PhaseFailed, Reason: v1alpha1.ReasonNoEnergy, Message: message, Failure: &v1alpha1.FailureSummary{
			Category: v1alpha1.CategoryBudgetExhausted, Reason: v1alpha1.ReasonNoEnergy, Message: message, Retryable: true,
		}}
	}
	s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonNoEnergy, message, short.Never())
	switch {
	case short.Behind != "":
		// That one has been woken too.
		s.Wake(s.Now.Add(pass.MinPause))
	case short.Crowded, short.Never():
		s.Wake(s.Now.Add(s.Pause()))
	default:
		s.Wake(short.EnoughAt)
	}
	return nil
}

// tiredMessage says what there is, what the run needs, when that will be there, and what becomes of the run. The level rises all the time, and each change of
// the message is a write. So the level stays that of the first message while the rest of it is the same.
func tiredMessage(run *v1alpha1.MotorRun, spec *v1alpha1.Energy, kind v1alpha1.EnergyKind, short *energy.Shortage) string {
	first := fmt.Sprintf("The energy of the namespace is %s of 1. ", short.Level)
	rest := fmt.Sprintf("A run of the kind %s needs %s (spec.energy of the MotorCortex). %s %s", kind, short.Need, when(short), whatNext(spec))
	if c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionAccepted); c != nil && c.Reason == v1alpha1.ReasonNoEnergy &&
		(short.Behind != "" || strings.HasSuffix(c.Message, rest)) {
		return c.Message
	}
	return first + rest
}

func when(short *energy.Shortage) string {
	switch {
	case short.Crowded:
		return fmt.Sprintf("That is there, but %d runs have drained their base and not ended.", energy.MaxOpen)
	case short.Behind != "":
		return fmt.Sprintf("That is there, and the run %s, which waits for it too, comes first.", short.Behind)
	case short.Never():
		return "It does not come back by itself, because regenerationPerHour is 0."
	}
	// The computed instant can differ by microseconds from pass to pass.
	by := short.EnoughAt.Add(time.Minute - time.Millisecond).Truncate(time.Minute)
	return fmt.Sprintf("It will be there by %s, if nothing else drains it.", by.UTC().Format(time.RFC3339))
}

func whatNext(spec *v1alpha1.Energy) string {
	if spec.WhenTired == v1alpha1.TiredReject {
		return "The run ends, because whenTired is Reject. Create it again then."
	}
	return "The run waits."
}
