// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
	"motorcortex.dev/motorcortex/internal/runpolicy/slots"
)

// IndexSlots is the index of the cache by which the runs are found that have a slot, or wait for one.
const IndexSlots = "slots"

// SlotsOf returns the values of IndexSlots.
func SlotsOf(run *v1alpha1.MotorRun) []string {
	if state := slots.Of(run); state != slots.Apart {
		return []string{string(state)}
	}
	return nil
}

// given are the slots that the cache does not show yet, by the runs that have them.
type given struct {
	mu   sync.Mutex
	runs map[types.UID]grant
}

type grant struct {
	namespace string
	at        time.Time
}

// unseenFor is how long the cache may take to show that a run has its slot. After it the sandbox could not be made, or the run is gone.
const unseenFor = time.Minute

// GiveSlot reports whether a run without a sandbox has a slot from now on. If not, it shows that all slots are taken and what position the run has. A
// run that had a sandbox needs none: it goes on in the place that it had.
func (p *Placer) GiveSlot(ctx context.Context, s *pass.Run) (bool, error) {
	total, bounded := replica.Slots(p.Workers.Live())
	if !bounded || s.Run.Status.Sandbox != nil {
		return true, nil
	}
	g := &p.State.given
	g.mu.Lock()
	defer g.mu.Unlock()
	has, waiting, err := p.inSlots(ctx, s.Now)
	if err != nil {
		return false, err
	}
	if _, ok := g.runs[s.Run.UID]; ok {
		return true, nil
	}
	own := slots.NewRun(s.Run)
	if !slices.ContainsFunc(waiting, func(w slots.Run) bool { return w.UID == own.UID }) {
		waiting = append(waiting, own)
	}
	at := slices.IndexFunc(slots.Order(has, waiting), func(w slots.Run) bool { return w.UID == own.UID })
	if at < total-sum(has) {
		g.runs[own.UID] = grant{own.Key.Namespace, s.Now}
		return true, nil
	}
	s.Block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSlotsTaken, slots.Message(at+1, total), false)
	// The end of another run wakes this one. This is for a replica that starts, and for a run that was woken and does not take its slot.
	s.Wake(s.Now.Add(s.Pause()))
	return false, nil
}

// inSlots returns how many slots each namespace has, and the runs that wait for one. It forgets the grants that the cache shows by now, or that came to
// nothing. The caller holds the lock of given.
func (p *Placer) inSlots(ctx context.Context, now time.Time) (has map[string]int, waiting []slots.Run, err error) {
	g := &p.State.given
	if g.runs == nil {
		g.runs = map[types.UID]grant{}
	}
	has = map[string]int{}
	holders, err := p.in(ctx, slots.Has)
	if err != nil {
		return nil, nil, err
	}
	for i := range holders {
		has[holders[i].Namespace]++
		delete(g.runs, holders[i].UID)
	}
	for uid, of := range g.runs {
		if now.Sub(of.at) > unseenFor {
			delete(g.runs, uid)
			continue
		}
		has[of.namespace]++
	}
	wait, err := p.in(ctx, slots.Waits)
	if err != nil {
		return nil, nil, err
	}
	for i := range wait {
		if _, ok := g.runs[wait[i].UID]; !ok {
			waiting = append(waiting, slots.NewRun(&wait[i]))
		}
	}
	return has, waiting, nil
}

// in lists the runs of all namespaces in a state. They belong to the cache.
func (p *Placer) in(ctx context.Context, state slots.State) ([]v1alpha1.MotorRun, error) {
	var runs v1alpha1.MotorRunList
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if p.Indexed {
		options = append(options, client.MatchingFields{IndexSlots: string(state)})
	}
	if err := p.List(ctx, &runs, options...); err != nil {
		return nil, fmt.Errorf("list the runs in slots: %w", err)
	}
	if p.Indexed {
		return runs.Items, nil
	}
	return slices.DeleteFunc(runs.Items, func(run v1alpha1.MotorRun) bool { return slots.Of(&run) != state }), nil
}

func sum(has map[string]int) (n int) {
	for _, of := range has {
		n += of
	}
	return n
}

// LeavesSlot selects changes by which another run may get a slot.
func LeavesSlot() predicate.Predicate {
	holds := func(o client.Object) bool {
		run, ok := o.(*v1alpha1.MotorRun)
		return ok && slots.Of(run) == slots.Has
	}
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return holds(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return holds(e.ObjectOld) && !holds(e.ObjectNew) },
	}
}

// NextRuns maps a run that has left its slot to the runs that get the free ones.
func (p *Placer) NextRuns(ctx context.Context, _ client.Object) []reconcile.Request {
	total, bounded := replica.Slots(p.Workers.Live())
	if !bounded {
		return nil
	}
	g := &p.State.given
	g.mu.Lock()
	has, waiting, err := p.inSlots(ctx, time.Time{})
	g.mu.Unlock()
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the runs that get a slot")
		return nil
	}
	var requests []reconcile.Request
	next := slots.Order(has, waiting)
	for _, run := range next[:min(len(next), max(0, total-sum(has)))] {
		requests = append(requests, reconcile.Request{NamespacedName: run.Key})
	}
	return requests
}
