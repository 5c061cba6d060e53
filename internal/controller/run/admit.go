// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// admit assigns one of the namespace's slots to the run, and so accepts it. The run holds its slot until it ends.
func (r *Reconciler) admit(ctx context.Context, s *pass.Run) (bool, error) {
	if pass.IsAccepted(s.Run) {
		return true, nil
	}
	turn, err := r.takeTurn(ctx, s)
	if err != nil {
		return false, err
	}
	switch turn.Verdict {
	case runpolicy.Wait:
		s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonQueued, waitMessage(s.Run, turn), false)
		// The end of a holder wakes the run. This is for the case that the run which was woken instead does not take the slot.
		s.Wake(s.Now.Add(s.Pause()))
		return false, nil
	case runpolicy.Reject:
		e := busy(s.Run, turn)
		s.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, e.Reason, e.Message)
		end(s, e)
		return false, nil
	case runpolicy.Admit:
	}
	s.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "The run can be carried out.")
	return true, nil
}

// takeTurn decides from the cache that a run waits, because the end of the run that it waits for wakes it. Irreversible decisions use the bound and
// the runs as the API server itself has them. They are made by one pass of the namespace at a time, until its status is written. Otherwise two runs
// could take the same slot, or one could be rejected because of a run that has ended.
func (r *Reconciler) takeTurn(ctx context.Context, s *pass.Run) (runpolicy.Turn, error) {
	if !runpolicy.HasModel(s.Run) {
		return runpolicy.Turn{Verdict: runpolicy.Admit}, nil
	}
	c, err := cortex.Get(ctx, r.Client, s.Run.Namespace)
	if err != nil {
		return runpolicy.Turn{}, err
	}
	runs, err := r.runsOf(ctx, s.Run.Namespace)
	if err != nil {
		return runpolicy.Turn{}, err
	}
	since := r.lookingSince()
	if turn := runpolicy.TakeTurn(s.Run, c.Spec.Concurrency, runs, since, s.Now); turn.Verdict == runpolicy.Wait {
		return turn, nil
	}
	if c, err = cortex.Get(ctx, r.Live, s.Run.Namespace); err != nil || c.Spec.Concurrency == nil {
		return runpolicy.Turn{Verdict: runpolicy.Admit}, err
	}
	s.Unlock = append(s.Unlock, r.admissions.lock(s.Run.Namespace))
	runs, err = r.runHeads(ctx, s.Run.Namespace)
	if err != nil {
		return runpolicy.Turn{}, err
	}
	return runpolicy.TakeTurn(s.Run, c.Spec.Concurrency, runs, since, s.Now), nil
}

// lookingSince returns when this reconciler first asked whose turn it is, which it does for the first time as the leader.
func (r *Reconciler) lookingSince() time.Time {
	r.looking.Do(func() { r.since = r.apiNow() })
	return r.since
}

// headsPage bounds how many runs are in memory with everything that is in them, up to 1.5 MiB each.
const headsPage = 16

// runHeads lists, past the cache, only the data about a namespace's runs that the queue needs: whole runs may not fit into the manager's memory.
func (r *Reconciler) runHeads(ctx context.Context, namespace string) ([]v1alpha1.MotorRun, error) {
	var heads []v1alpha1.MotorRun
	for next := ""; ; {
		var page v1alpha1.MotorRunList
		if err := r.Live.List(ctx, &page, client.InNamespace(namespace), client.Limit(headsPage), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		for i := range page.Items {
			run := &page.Items[i]
			heads = append(heads, v1alpha1.MotorRun{
				ObjectMeta: metav1.ObjectMeta{Name: run.Name, CreationTimestamp: run.CreationTimestamp, DeletionTimestamp: run.DeletionTimestamp},
				Spec:       v1alpha1.MotorRunSpec{Mode: run.Spec.Mode, Priority: run.Spec.Priority, Suspend: run.Spec.Suspend, Cancel: run.Spec.Cancel},
				Status:     v1alpha1.MotorRunStatus{Conditions: run.Status.Conditions},
			})
		}
		if next = page.Continue; next == "" {
			return heads, nil
		}
	}
}

// waitMessage names the same run as before while that run is in the way: each change of the message is a write.
func waitMessage(run *v1alpha1.MotorRun, turn runpolicy.Turn) string {
	say := func(other string) string {
		if turn.Full {
			return fmt.Sprintf("Every place of the namespace is taken, one of them by the run %s. The run waits for its turn.", other)
		}
		return fmt.Sprintf("The run %s comes first. This one waits for its turn.", other)
	}
	if c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionAccepted); c != nil {
		for _, other := range turn.Holders {
			if c.Message == say(other) {
				return c.Message
			}
		}
	}
	return say(turn.Holders[0])
}

func busy(run *v1alpha1.MotorRun, turn runpolicy.Turn) *runpolicy.End {
	message := fmt.Sprintf("Namespace %s is busy: run %s is being carried out, and there is no place for another one (spec.concurrency of the "+
		"MotorCortex). Create the run again when it has ended.", run.Namespace, turn.Holders[0])
	return &runpolicy.End{Phase: v1alpha1.PhaseFailed, Reason: v1alpha1.ReasonBusy, Message: message, Failure: &v1alpha1.FailureSummary{
		Category: v1alpha1.CategoryBudgetExhausted, Reason: v1alpha1.ReasonBusy, Message: message, Retryable: true,
	}}
}

// leavesQueue selects changes by which a waiting run may have its turn: another run has released its slot, or does not come first any more.
func leavesQueue() predicate.Predicate {
	holds := func(o client.Object) bool { run, ok := o.(*v1alpha1.MotorRun); return ok && runpolicy.HoldsPlace(run) }
	waits := func(o client.Object) bool {
		run, ok := o.(*v1alpha1.MotorRun)
		return ok && runpolicy.WaitsForPlace(run)
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return holds(e.Object) || waits(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return (holds(e.ObjectOld) || waits(e.ObjectOld)) && !holds(e.ObjectNew) && !waits(e.ObjectNew)
		},
	}
}

// nextTurns maps a run that has left the queue, or its slot, to those whose turn it is now.
func (r *Reconciler) nextTurns(ctx context.Context, o client.Object) []reconcile.Request {
	return r.chosen(ctx, o, func(c *v1alpha1.MotorCortex, runs []v1alpha1.MotorRun) []*v1alpha1.MotorRun {
		return runpolicy.NextTurns(c.Spec.Concurrency, runs, r.lookingSince(), r.apiNow())
	})
}

// stripes are locks, one for many namespaces: their number must not grow with that of the namespaces.
type stripes [64]sync.Mutex

// lock locks a namespace. The returned function unlocks it.
func (l *stripes) lock(namespace string) (unlock func()) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(namespace))
	m := &l[h.Sum32()%uint32(len(l))]
	m.Lock()
	return m.Unlock
}
