// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

const (
	// trialRetry is the interval at which a run checks again whether it is its turn, if nothing wakes it.
	trialRetry = 5 * time.Second
	// trialPause is the least time between two trials, where Placer.TrialPause is 0. The work that a trial interrupts goes on in it.
	trialPause = 30 * time.Second
)

// trials holds the one run at a time that a worker carries on alone. A new leader learns of it from the status of that run.
type trials struct {
	mu  sync.Mutex
	run types.NamespacedName
	uid types.UID
	// epoch is the first epoch in which the status of the run shows the outcome.
	epoch int64
	// worker is the worker of the present trial, or of the last one if it was lost: the other runs that it carried on are not to blame.
	worker string
	// began is when the turn was assigned, and results the number of the run's calls that had a result then.
	began   time.Time
	results int32
	// free is the earliest time of the next turn.
	free time.Time
	// asks are the suspects that wait for a turn. A suspect whose passes do not reach this point is forgotten, and delays no other.
	asks map[types.UID]ask
	// explained is when a run was last set aside: that run explains the losses until then.
	explained time.Time
}

// ask is a suspect's wish for a turn.
type ask struct {
	// lostAt is when its last worker was lost, name its own: they are tried in this order.
	lostAt time.Time
	name   string
	// until is when it must have asked again.
	until time.Time
}

func (a ask) precedes(b ask) bool {
	return a.lostAt.Before(b.lostAt) || a.lostAt.Equal(b.lostAt) && a.name < b.name
}

// end ends the turn. The lock is held.
func (t *trials) end(now time.Time, pause time.Duration) {
	t.uid = ""
	t.free = now.Add(max(pause, now.Sub(t.began)))
}

// isFirst records that the run asks for the turn, and asks again before the time again. It reports whether no other run comes before. The lock is
// held.
func (t *trials) isFirst(run *v1alpha1.MotorRun, now, again time.Time) bool {
	if t.asks == nil {
		t.asks = map[types.UID]ask{}
	}
	own := ask{run.Status.Losses.LastLossTime.Time, run.Namespace + "/" + run.Name, again.Add(2 * trialRetry)}
	t.asks[run.UID] = own
	first := true
	for uid, a := range t.asks {
		switch {
		case now.After(a.until):
			delete(t.asks, uid)
		case a.precedes(own):
			first = false
		}
	}
	return first
}

// noteLoss counts a worker that ended while it carried the run on, before the run is assigned to another one. While no worker lives, the former one
// may show up again, and nothing is lost.
func (p *Placer) noteLoss(s *pass.Run, live []replica.Worker) {
	st := &s.Run.Status
	t := &p.State.trials
	t.mu.Lock()
	defer t.mu.Unlock()
	if st.Execution.Worker != "" && len(live) > 0 && !replica.Lives(st.Execution.Worker, live) && runpolicy.CarriedOn(s.Run) && p.Workers.Lost(st.Execution.Worker) {
		if alone := runpolicy.IsAlone(st); alone || st.Execution.Worker != t.worker {
			runpolicy.NoteLoss(st, s.Now)
			if runpolicy.IsSetAside(st) {
				t.explained = s.Now
			}
		}
		// It is counted once, however long the run waits for the next worker.
		st.Execution.Worker = ""
	}
	if runpolicy.IsSuspect(st) && !runpolicy.IsSetAside(st) && !runpolicy.IsAlone(st) && !st.Losses.LastLossTime.After(t.explained) {
		st.Losses = nil
	}
	if t.uid == s.Run.UID && !runpolicy.IsAlone(st) && (st.Execution.Epoch >= t.epoch || !runpolicy.IsSuspect(st)) {
		t.end(s.Now, p.pause())
	}
}

// blockSetAside reports whether the run is set aside, and if so writes that into the status.
func blockSetAside(s *pass.Run) bool {
	if !runpolicy.IsSetAside(&s.Run.Status) {
		return false
	}
	s.SetAside = true
	s.Message = fmt.Sprintf("The processes of the manager that carried this run on ended one after the other, the last two while they carried on nothing else. "+
		"So the run is set aside, and its time goes on. Look at the former log of the manager for why it ended (kubectl logs --previous), and report it. "+
		"To have the run tried again: kubectl -n %[1]s patch motorrun %[2]s --type=merge -p '{\"spec\":{\"suspend\":true}}', and the same with false. Otherwise cancel it.",
		s.Run.Namespace, s.Run.Name)
	return true
}

// onTrial reserves the worker of the run for it alone until its trial is over, and reports whether the trial goes on.
func (p *Placer) onTrial(s *pass.Run) bool {
	st := &s.Run.Status
	t := &p.State.trials
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.uid == "" {
		// A leader before began it, with a number of results that is not known.
		t.began, t.results = st.Losses.AloneStartTime.Time, math.MaxInt32
	}
	end := runpolicy.TrialEnd(s.Run, s.Progress, t.results)
	if !s.Now.Before(end) {
		runpolicy.EndTrial(st)
		if t.uid == s.Run.UID || t.uid == "" {
			t.worker = ""
			t.end(s.Now, p.pause())
		}
		return false
	}
	if t.uid == "" || t.uid == s.Run.UID {
		t.run, t.uid, t.epoch, t.worker = client.ObjectKeyFromObject(s.Run), s.Run.UID, st.Execution.Epoch, st.Execution.Worker
	}
	s.Wake(end)
	return true
}

// current returns the worker that carries on a run alone, and which run, "" if there is none. The lock is held.
func (p *Placer) current(ctx context.Context, now time.Time) (worker string, uid types.UID) {
	t := &p.State.trials
	if t.uid == "" {
		return "", ""
	}
	run := &v1alpha1.MotorRun{}
	err := p.Get(ctx, t.run, run)
	// The cache may be behind the write that began the trial.
	isOver := err == nil && (run.UID != t.uid || pass.IsFinished(run) || !runpolicy.HasWork(run) ||
		run.Status.Execution.Epoch >= t.epoch && !runpolicy.IsAlone(&run.Status) || outlived(run, now))
	if isOver || client.IgnoreNotFound(err) == nil && err != nil {
		t.worker = ""
		t.end(now, p.pause())
		return "", ""
	}
	return t.worker, t.uid
}

// outlived reports whether the trial of a run should have ended some passes ago. The passes of that run may be stuck, and others do not wait for them.
func outlived(run *v1alpha1.MotorRun, now time.Time) bool {
	return runpolicy.IsAlone(&run.Status) && now.After(runpolicy.TrialEnd(run, runpolicy.Progress{}, math.MaxInt32).Add(2*trialRetry))
}

// beside returns the workers that may carry a run on: all but one that carries on another run alone. A worker that has nothing to do for the run
// retains it, and looks after the sandboxes of runs that are held.
func (p *Placer) beside(ctx context.Context, s *pass.Run, live []replica.Worker) []replica.Worker {
	p.State.trials.mu.Lock()
	defer p.State.trials.mu.Unlock()
	st := &s.Run.Status
	worker, uid := p.current(ctx, s.Now)
	if worker == "" || uid == s.Run.UID || runpolicy.Held(st) || worker == st.Execution.Worker && !runpolicy.CarriedOn(s.Run) {
		return live
	}
	if worker == st.Execution.Worker {
		st.Execution.Worker = ""
	}
	others := slices.DeleteFunc(slices.Clone(live), func(w replica.Worker) bool { return w.ID == worker })
	if len(others) == 0 && len(live) > 0 {
		s.Wake(s.Now.Add(trialRetry))
	}
	return others
}

// mayTry reports whether it is the turn of a suspect to be carried on alone, and reserves the turn for it.
func (p *Placer) mayTry(ctx context.Context, s *pass.Run) bool {
	p.State.trials.mu.Lock()
	defer p.State.trials.mu.Unlock()
	st := &s.Run.Status
	s.Message = fmt.Sprintf("%d processes of the manager ended in succession while they carried this run on. It is carried on alone when it is its turn. "+
		"Its time stands still until then.", st.Losses.Count)
	if at := runpolicy.TrialAt(st); s.Now.Before(at) {
		s.Wake(at)
		return false
	}
	t := &p.State.trials
	_, uid := p.current(ctx, s.Now)
	again := s.Now.Add(trialRetry)
	if t.free.After(again) {
		again = t.free
	}
	first := t.isFirst(s.Run, s.Now, again)
	switch {
	case uid == s.Run.UID:
	case uid != "" || !first:
		s.Wake(again)
		return false
	case s.Now.Before(t.free):
		s.Wake(t.free)
		return false
	}
	s.Message = ""
	delete(t.asks, s.Run.UID)
	if uid == "" {
		t.began, t.results = s.Now, s.Progress.ToolCalls
	}
	t.run, t.uid, t.epoch, t.worker = client.ObjectKeyFromObject(s.Run), s.Run.UID, max(st.Execution.Epoch, s.Progress.Epoch)+1, ""
	return true
}

// ChangesTrial selects a run whose trial begins or is over.
func ChangesTrial() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool {
			run, ok := e.Object.(*v1alpha1.MotorRun)
			return ok && runpolicy.IsAlone(&run.Status)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.MotorRun)
			after, also := e.ObjectNew.(*v1alpha1.MotorRun)
			return ok && also && runpolicy.IsAlone(&before.Status) != runpolicy.IsAlone(&after.Status)
		},
	}
}

// BesideTrial maps a run whose trial begins or is over to other runs: those that its worker must not carry on meanwhile, and those that wait for
// the end of the trial.
func (p *Placer) BesideTrial(ctx context.Context, o client.Object) []reconcile.Request {
	tried, ok := o.(*v1alpha1.MotorRun)
	if !ok {
		return nil
	}
	var runs v1alpha1.MotorRunList
	if err := p.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return nil // It comes from the cache.
	}
	var list []reconcile.Request
	for i := range runs.Items {
		run := &runs.Items[i]
		if run.UID != tried.UID && pass.IsAccepted(run) && !pass.IsFinished(run) &&
			(run.Status.Execution.Worker == "" || run.Status.Execution.Worker == tried.Status.Execution.Worker || runpolicy.AwaitsTrial(&run.Status)) {
			list = append(list, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
		}
	}
	return list
}
