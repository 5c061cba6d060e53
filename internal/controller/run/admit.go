// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/controller/queue"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// queue leaves a run that waits for its turn as it is until the cache shows its turn. It comes before the steps that check what the run needs: those read
// past the cache, and are taken when the run joins the queue and again when it has its turn, however long it waits between.
func (r *Reconciler) queue(ctx context.Context, s *pass.Run) (bool, error) {
	if !runpolicy.WaitsInQueue(s.Run) {
		return true, nil
	}
	turn, err := r.turns().Look(ctx, s.Run, s.Now)
	if err != nil || turn.Verdict != runpolicy.Wait {
		return err == nil, err
	}
	awaitTurn(s, turn)
	return false, nil
}

// admit assigns one of the namespace's slots to the run, drains the energy of the namespace, and so accepts the run. It holds its slot until it ends.
func (r *Reconciler) admit(ctx context.Context, s *pass.Run) (bool, error) {
	if pass.IsAccepted(s.Run) {
		return true, nil
	}
	turn, err := r.turns().Take(ctx, s.Run, s.Now)
	if err != nil {
		return false, err
	}
	switch turn.Verdict {
	case runpolicy.Wait:
		awaitTurn(s, turn)
		return false, nil
	case runpolicy.Reject:
		e := busy(s.Run, turn)
		s.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, e.Reason, e.Message)
		end(s, e)
		return false, nil
	case runpolicy.Admit:
	}
	// It comes last: a run that is refused, or finds every place taken, drains nothing.
	goOn, tired, err := r.Energy.Drain(ctx, s)
	if err != nil {
		return false, err
	}
	if !goOn {
		r.turns().Release(s.Run)
		if tired != nil {
			s.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, tired.Reason, tired.Message)
			end(s, tired)
		}
		return false, nil
	}
	s.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "The run can be carried out.")
	return true, nil
}

// awaitTurn has the run wait in the queue.
func awaitTurn(s *pass.Run, turn runpolicy.Turn) {
	s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonQueued, waitMessage(s.Run, turn), false)
	// The end of a holder wakes the run. This is for the case that the run which was woken instead does not take the slot.
	s.Wake(s.Now.Add(s.Pause()))
}

// turns returns the part that decides whose turn it is.
func (r *Reconciler) turns() *queue.Queue {
	return &queue.Queue{Client: r.Client, Live: r.Live, State: &r.queues, Own: r.Now}
}

// lookingSince returns when this reconciler first asked whose turn it is.
func (r *Reconciler) lookingSince() time.Time { return r.queues.Since(r.apiNow()) }

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
