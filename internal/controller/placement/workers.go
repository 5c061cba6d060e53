// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

// Workers is the set of replicas of the manager that runs can be assigned to.
type Workers interface {
	// Live are the replicas that live now.
	Live() []replica.Worker
	// Lost reports whether a replica that does not live ended without releasing its runs.
	Lost(id string) bool
}

// LeaseWorkers judges by their Leases which replicas live. It watches them in every replica: a new leader must know since when the former one was
// silent, or each failover would take a second term.
type LeaseWorkers struct {
	informers cache.Informers
	namespace string
	now       func() time.Time

	mu    sync.Mutex
	beats replica.Heartbeats
	// versions are the versions of the workers by their ids, "" for a worker that does not report one.
	versions map[string]string
	// Show is called with the number of live workers of each version when that changes. A nil Show is not called.
	Show  func(byVersion map[string]int)
	shown map[string]int
	// synced is closed when every Lease was seen once. Before that, a worker that lives may be missing.
	synced chan struct{}
	// turned has capacity for one signal that the set of workers may have changed.
	turned chan struct{}
}

// NewLeaseWorkers returns the workers whose Leases are in a namespace.
func NewLeaseWorkers(informers cache.Informers, namespace string, now func() time.Time) *LeaseWorkers {
	return &LeaseWorkers{informers: informers, namespace: namespace, now: now, synced: make(chan struct{}), turned: make(chan struct{}, 1), versions: map[string]string{}}
}

// Live returns the replicas that live now, none before all Leases were seen.
func (w *LeaseWorkers) Live() []replica.Worker {
	live, _ := w.look()
	return live
}

// Lost reports whether a replica ended, or stands still, without having released its Lease.
func (w *LeaseWorkers) Lost(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.beats.Lost(id, w.now())
}

// look also returns when the first of them lapses unless it renews its Lease.
func (w *LeaseWorkers) look() (live []replica.Worker, lapse time.Time) {
	select {
	case <-w.synced:
	default:
		return nil, time.Time{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	return w.beats.Live(now), w.beats.NextLapse(now)
}

// NeedLeaderElection is false: see LeaseWorkers.
func (w *LeaseWorkers) NeedLeaderElection() bool { return false }

// Start watches the Leases until the manager ends.
func (w *LeaseWorkers) Start(ctx context.Context) error {
	informer, err := w.informers.GetInformer(ctx, &coordinationv1.Lease{})
	if err != nil {
		return err
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    w.observe,
		UpdateFunc: func(_, o any) { w.observe(o) },
		DeleteFunc: w.forget,
	})
	if err != nil {
		return err
	}
	if toolscache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		close(w.synced)
		w.turn()
	}
	<-ctx.Done()
	return nil
}

func (w *LeaseWorkers) observe(o any) {
	lease, ok := o.(*coordinationv1.Lease)
	if !ok || !w.isWorkers(lease) {
		return
	}
	// A holder that releases a Lease deletes it, so a Lease that changed hands was taken over.
	beat := replica.Heartbeat{Taken: lease.Spec.LeaseTransitions != nil && *lease.Spec.LeaseTransitions > 0}
	if lease.Spec.HolderIdentity != nil {
		beat.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.RenewTime != nil {
		beat.Renewed = lease.Spec.RenewTime.Time
	}
	if slots, err := strconv.Atoi(lease.Annotations[v1alpha1.AnnotationSlots]); err == nil {
		beat.Slots = slots
	}
	if lease.Spec.LeaseDurationSeconds != nil {
		beat.Term = time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
	}
	w.change(func(now time.Time) {
		w.beats.Observe(lease.Name, beat, now)
		w.versions[beat.Holder] = lease.Annotations[v1alpha1.AnnotationVersion]
	})
}

func (w *LeaseWorkers) forget(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if lease, ok := o.(*coordinationv1.Lease); ok && w.isWorkers(lease) {
		w.change(func(time.Time) { w.beats.Forget(lease.Name) })
	}
}

// isWorkers excludes Leases that the cache should not have: a client that could write such a Lease could have runs assigned to a worker that does
// not exist.
func (w *LeaseWorkers) isWorkers(lease *coordinationv1.Lease) bool {
	return lease.Namespace == w.namespace && lease.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentWorker
}

// change makes a change, and signals it if the set of live workers changed, or the first lapse is earlier.
func (w *LeaseWorkers) change(change func(now time.Time)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	before, lapse := w.beats.Live(now), w.beats.NextLapse(now)
	change(now)
	w.showVersions(w.beats.Live(now))
	if !sameWorkers(before, w.beats.Live(now)) || w.beats.NextLapse(now).Before(lapse) {
		w.turn()
	}
}

// showVersions reports the versions of the live workers, and forgets those of the others.
func (w *LeaseWorkers) showVersions(live []replica.Worker) {
	byVersion, known := map[string]int{}, map[string]string{}
	for _, l := range live {
		known[l.ID] = w.versions[l.ID]
		byVersion[cmp.Or(w.versions[l.ID], unknownVersion)]++
	}
	w.versions = known
	if maps.Equal(byVersion, w.shown) {
		return
	}
	w.shown = byVersion
	if w.Show != nil {
		w.Show(byVersion)
	}
}

// unknownVersion stands for replicas whose Lease has no version.
const unknownVersion = "unknown"

func (w *LeaseWorkers) turn() {
	select {
	case w.turned <- struct{}{}:
	default:
	}
}

func sameWorkers(a, b []replica.Worker) bool {
	return slices.EqualFunc(a, b, func(a, b replica.Worker) bool { return a.ID == b.ID })
}
