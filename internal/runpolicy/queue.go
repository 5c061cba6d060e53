// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"cmp"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// unseenFor is how long a run that the controller has not looked at yet retains its turn, from its creation or from the start of the controller. It
// bounds the delay that a run causes which cannot be looked at, because an object that it needs cannot be read.
const unseenFor = 10 * time.Second

// Verdict is the outcome for a run that asks for a slot.
type Verdict int

const (
	// Admit: it has a slot.
	Admit Verdict = iota
	// Wait: it waits for its turn.
	Wait
	// Reject: it ends.
	Reject
)

// Turn is the outcome for a run that asks for a slot, and the runs that caused it.
type Turn struct {
	Verdict Verdict
	// Holders are the names of the runs that have the slots, or, if slots are free, of those whose turn is before: the oldest first.
	Holders []string
	// Full is true if no slot is free.
	Full bool
}

// TakeTurn decides about a run that asks for a slot among the runs of its namespace. since is when the controller began to look at runs: those that
// were created before that retain their order too.
func TakeTurn(run *v1alpha1.MotorRun, c *v1alpha1.Concurrency, runs []v1alpha1.MotorRun, since, now time.Time) Turn {
	if c == nil || !HasModel(run) {
		return Turn{Verdict: Admit}
	}
	var active, before []*v1alpha1.MotorRun
	for i := range runs {
		other := &runs[i]
		switch {
		case other.Name == run.Name:
		case HoldsPlace(other):
			active = append(active, other)
		case waits(other, since, now) && byTurn(other, run) < 0:
			before = append(before, other)
		}
	}
	free := places(c) - len(active)
	switch {
	case free <= 0 && c.WhenBusy == v1alpha1.BusyReject:
		return Turn{Verdict: Reject, Holders: names(active), Full: true}
	case free <= 0:
		return Turn{Verdict: Wait, Holders: names(active), Full: true}
	case len(before) >= free && c.WhenBusy != v1alpha1.BusyReject:
		return Turn{Verdict: Wait, Holders: names(before)}
	}
	return Turn{Verdict: Admit}
}

// NextTurns returns the runs that can have the free slots, at least the first one: the view of the cache may be behind, and the run checks again
// for itself.
func NextTurns(c *v1alpha1.Concurrency, runs []v1alpha1.MotorRun, since, now time.Time) []*v1alpha1.MotorRun {
	if c == nil {
		return nil
	}
	var waiting []*v1alpha1.MotorRun
	free := places(c)
	for i := range runs {
		switch r := &runs[i]; {
		case HoldsPlace(r):
			free--
		case waits(r, since, now):
			waiting = append(waiting, r)
		}
	}
	slices.SortFunc(waiting, byTurn)
	return waiting[:min(len(waiting), max(free, 1))]
}

// HoldsPlace reports whether the run has one of the namespace's slots. A run that is being deleted is not carried on.
func HoldsPlace(run *v1alpha1.MotorRun) bool {
	return HasModel(run) && run.DeletionTimestamp.IsZero() && has(run, v1alpha1.ConditionAccepted) && !hasFinished(run)
}

// WaitsForPlace reports whether the run waits for its turn, or was not looked at yet. A run that cannot begin, because it is suspended or an object
// that it needs is missing, does not wait: it would delay all others.
func WaitsForPlace(run *v1alpha1.MotorRun) bool {
	if !HasModel(run) || run.Spec.Suspend || run.Spec.Cancel || IsCopy(run) || !run.DeletionTimestamp.IsZero() || hasFinished(run) {
		return false
	}
	return queued(run) || unseen(run)
}

// WaitsInQueue reports whether the run has found everything that it needs and waits for a slot.
func WaitsInQueue(run *v1alpha1.MotorRun) bool { return WaitsForPlace(run) && queued(run) }

// TiredBefore returns the runs that wait for energy and whose turn is before that of run.
func TiredBefore(run *v1alpha1.MotorRun, runs []v1alpha1.MotorRun) (before []*v1alpha1.MotorRun) {
	for i := range runs {
		if other := &runs[i]; other.Name != run.Name && WaitsForPlace(other) && notAccepted(other, v1alpha1.ReasonNoEnergy) && byTurn(other, run) < 0 {
			before = append(before, other)
		}
	}
	return before
}

// IsCopy reports whether the run was created as a copy of another one, and no person has released it.
func IsCopy(run *v1alpha1.MotorRun) bool { return run.Spec.Origin == v1alpha1.OriginCopied }

func waits(run *v1alpha1.MotorRun, since, now time.Time) bool {
	if created := run.CreationTimestamp.Time; created.After(since) {
		since = created
	}
	return WaitsForPlace(run) && (queued(run) || now.Before(since.Add(unseenFor)))
}

func unseen(run *v1alpha1.MotorRun) bool {
	return apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionAccepted) == nil
}

func hasFinished(run *v1alpha1.MotorRun) bool { return has(run, v1alpha1.ConditionFinished) }

func has(run *v1alpha1.MotorRun, condition string) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, condition)
}

func places(c *v1alpha1.Concurrency) int { return int(max(1, c.MaxActive)) }

// byTurn orders by priority, then age. The name decides among runs of the same second.
func byTurn(a, b *v1alpha1.MotorRun) int {
	return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), byAge(a, b))
}

func byAge(a, b *v1alpha1.MotorRun) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

func names(runs []*v1alpha1.MotorRun) []string {
	slices.SortFunc(runs, byAge)
	list := make([]string, 0, len(runs))
	for _, r := range runs {
		list = append(list, r.Name)
	}
	return list
}
