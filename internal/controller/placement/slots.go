// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
	"motorcortex.dev/motorcortex/internal/runpolicy/slots"
)

// IndexSlots is the index of the cache by which the runs are found that have a slot, or wait for one.
const IndexSlots = "slots"

// The values of IndexSlots.
const (
	// hasSlot is that of a run that a replica carries on, or is about to.
	hasSlot = "has"
	// waitsForSlot is that of a run that has no sandbox because all slots are taken.
	waitsForSlot = "waits"
)

// SlotsOf returns the values of IndexSlots. A run that no loop has work for has no slot: it waits for its namespace, a node, its model or a person.
func SlotsOf(run *v1alpha1.MotorRun) []string {
	switch st := &run.Status; {
	case isOver(run), run.Spec.Suspend, !pass.IsAccepted(run):
	case runpolicy.LacksSlot(run):
		return []string{waitsForSlot}
	case st.Sandbox == nil, runpolicy.LacksRoom(run), runpolicy.Held(st), apimeta.IsStatusConditionFalse(st.Conditions, v1alpha1.ConditionModelAvailable):
	case st.Pending() != nil && !runpolicy.Answered(run, st.Pending()):
	default:
		return []string{hasSlot}
	}
	return nil
}

// isOver reports whether a run has ended, or ends. Last looks have slots of their own.
func isOver(run *v1alpha1.MotorRun) bool {
	return pass.IsFinished(run) || !run.DeletionTimestamp.IsZero() || run.Status.Ending != nil || run.Spec.Cancel
}

// given is the memory of a process about slots.
type given struct {
	mu sync.Mutex
	// total is how many slots there were when a replica was last seen.
	total int
	// runs have slots that the cache does not show yet.
	runs map[types.UID]grant
	// last is how the slots were shared when that was last looked at.
	last shared
}

type grant struct {
	key types.NamespacedName
	at  time.Time
}

// shared is how the slots are shared at one time.
type shared struct {
	at    time.Time
	total int
	// next are the positions of the runs that wait on, from 1. The others get a slot: requests are for them.
	next     map[types.UID]int
	requests []reconcile.Request
}

const (
	// unseenFor is how long the cache may take to show that a run has its slot. After it the sandbox could not be made.
	unseenFor = time.Minute
	// sharedFor is how long runs that wait are told the same: ten thousand of them take 20 ms to be put in order.
	sharedFor = time.Second
)

// GiveSlot reports whether a run without a sandbox has a slot from now on. If not, it shows that all slots are taken and what position the run has. A
// run that had a sandbox needs none: it goes on in the place that it had.
func (p *Placer) GiveSlot(ctx context.Context, s *pass.Run) (bool, error) {
	g := &p.State.given
	g.mu.Lock()
	defer g.mu.Unlock()
	total, bounded := p.slots()
	if !bounded || s.Run.Status.Sandbox != nil {
		return true, nil
	}
	if _, ok := g.runs[s.Run.UID]; ok {
		return true, nil
	}
	position := g.last.next[s.Run.UID]
	if position == 0 || g.last.total != total || p.now().Sub(g.last.at) >= sharedFor {
		if err := p.share(ctx, total, s.Run); err != nil {
			return false, err
		}
		position = g.last.next[s.Run.UID]
	}
	if position == 0 {
		g.runs[s.Run.UID] = grant{client.ObjectKeyFromObject(s.Run), p.now()}
		return true, nil
	}
	s.Block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSlotsTaken, slots.Message(position, total), false)
	// The end of another run wakes this one. This is for a run that was woken and does not take its slot.
	s.Wake(s.Now.Add(s.Pause()))
	return false, nil
}

// now is the time of the process: the one of the API is set now and then.
func (p *Placer) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// slots returns how many slots the replicas have. While none is seen, as when the only one is started again, it has as many as before. The caller holds
// the lock of given.
func (p *Placer) slots() (total int, bounded bool) {
	live := p.Workers.Live()
	if g := &p.State.given; len(live) == 0 && g.total > 0 {
		return g.total, true
	}
	total, bounded = replica.Slots(live)
	p.State.given.total = total
	return total, bounded
}

// share looks how the slots are shared now, with the asking run among those that wait; nil is no run. The caller holds the lock of given.
func (p *Placer) share(ctx context.Context, total int, asking *v1alpha1.MotorRun) error {
	g := &p.State.given
	holders, err := p.in(ctx, hasSlot)
	if err != nil {
		return err
	}
	waiting, err := p.in(ctx, waitsForSlot)
	if err != nil {
		return err
	}
	if asking != nil && !slices.ContainsFunc(waiting, func(r v1alpha1.MotorRun) bool { return r.UID == asking.UID }) {
		waiting = append(waiting, *asking)
	}
	now := p.now()
	p.forget(ctx, now)
	has := map[string]int{}
	for i := range holders {
		has[holders[i].Namespace]++
	}
	for _, of := range g.runs {
		has[of.key.Namespace]++
	}
	wait := make([]slots.Run, 0, len(waiting))
	for i := range waiting {
		if r := &waiting[i]; g.runs[r.UID].key.Name == "" {
			wait = append(wait, slots.Run{Key: client.ObjectKeyFromObject(r), UID: r.UID, Created: r.CreationTimestamp.Time, Priority: r.Spec.Priority})
		}
	}
	gets, next := slots.Share(has, wait, total)
	g.last = shared{at: now, total: total, next: positions(next)}
	for _, r := range gets {
		g.last.requests = append(g.last.requests, reconcile.Request{NamespacedName: r.Key})
	}
	return nil
}

func positions(runs []slots.Run) map[types.UID]int {
	at := make(map[types.UID]int, len(runs))
	for i, r := range runs {
		at[r.UID] = i + 1
	}
	return at
}

// forget forgets the slots that the cache shows by now, those of runs that need none any more, and those that nothing came of.
func (p *Placer) forget(ctx context.Context, now time.Time) {
	g := &p.State.given
	if g.runs == nil {
		g.runs = map[types.UID]grant{}
	}
	for uid, of := range g.runs {
		run := &v1alpha1.MotorRun{}
		err := p.Get(ctx, of.key, run, client.UnsafeDisableDeepCopy)
		gone := apierrors.IsNotFound(err) || err == nil && (run.UID != uid || isOver(run) || run.Spec.Suspend || run.Status.Sandbox != nil || runpolicy.LacksRoom(run))
		if gone || now.Sub(of.at) > unseenFor {
			delete(g.runs, uid)
		}
	}
}

// in lists the runs of all namespaces with a value of IndexSlots. They belong to the cache.
func (p *Placer) in(ctx context.Context, value string) ([]v1alpha1.MotorRun, error) {
	var runs v1alpha1.MotorRunList
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if p.Indexed {
		options = append(options, client.MatchingFields{IndexSlots: value})
	}
	if err := p.List(ctx, &runs, options...); err != nil {
		return nil, fmt.Errorf("list the runs in slots: %w", err)
	}
	if p.Indexed {
		return runs.Items, nil
	}
	return slices.DeleteFunc(runs.Items, func(run v1alpha1.MotorRun) bool { return !slices.Contains(SlotsOf(&run), value) }), nil
}

// LeavesSlot selects changes by which another run may get a slot.
func LeavesSlot() predicate.Predicate {
	holds := func(o client.Object) bool {
		run, ok := o.(*v1alpha1.MotorRun)
		return ok && slices.Contains(SlotsOf(run), hasSlot)
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
	g := &p.State.given
	g.mu.Lock()
	defer g.mu.Unlock()
	total, bounded := p.slots()
	if !bounded {
		return nil
	}
	if err := p.share(ctx, total, nil); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "find the runs that get a slot")
		return nil
	}
	return g.last.requests
}
