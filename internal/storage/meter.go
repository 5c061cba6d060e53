// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Meter knows how many bytes the runs of each namespace keep in the cluster. It adds up what the cache reports, so that it lists nothing and writes
// nothing. Each replica has its own.
type Meter struct {
	mu   sync.Mutex
	used map[string]int64
	// steps counts those of each run.
	steps  map[client.ObjectKey]int
	synced []func() bool
}

// Watch has the meter follow the runs and steps of a cache. It is called once, before the cache starts or after.
func (m *Meter) Watch(ctx context.Context, informers cache.Informers) error {
	for _, kind := range []client.Object{&v1alpha1.MotorRun{}, &v1alpha1.MotorStep{}} {
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch the size of %T: %w", kind, err)
		}
		registered, err := informer.AddEventHandler(m)
		if err != nil {
			return fmt.Errorf("watch the size of %T: %w", kind, err)
		}
		m.mu.Lock()
		m.synced = append(m.synced, registered.HasSynced)
		m.mu.Unlock()
	}
	return nil
}

// HasSynced reports whether everything is counted that was there when the meter began. Before that the use of a namespace looks smaller than it is.
func (m *Meter) HasSynced() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.synced) > 0 && !slices.ContainsFunc(m.synced, func(has func() bool) bool { return !has() })
}

// Used returns how many bytes the runs of the namespace keep.
func (m *Meter) Used(namespace string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used[namespace]
}

// HasSteps reports whether a run has steps in the cluster.
func (m *Meter) HasSteps(namespace, run string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steps[client.ObjectKey{Namespace: namespace, Name: run}] > 0
}

// Namespaces returns those whose runs keep anything, in any order.
func (m *Meter) Namespaces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.used))
}

// OnAdd implements client-go's ResourceEventHandler.
func (m *Meter) OnAdd(o any, _ bool) { m.add(o, Of(o), 1) }

// OnUpdate implements client-go's ResourceEventHandler. Both sizes are of the heads in the cache, so what was added is what is taken away.
func (m *Meter) OnUpdate(before, now any) { m.add(now, Of(now)-Of(before), 0) }

// OnDelete implements client-go's ResourceEventHandler.
func (m *Meter) OnDelete(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	m.add(o, -Of(o), -1)
}

// add adds an object's bytes to the sum of its namespace, and the object to the steps of its run if it is a step.
func (m *Meter) add(o any, bytes int64, objects int) {
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		m.used, m.steps = map[string]int64{}, map[client.ObjectKey]int{}
	}
	namespace := object.GetNamespace()
	if m.used[namespace] += bytes; m.used[namespace] <= 0 {
		delete(m.used, namespace)
	}
	if _, isStep := object.(*v1alpha1.MotorStep); !isStep {
		return
	}
	// Only the manager writes steps, and never their labels again.
	run := client.ObjectKey{Namespace: namespace, Name: object.GetLabels()[v1alpha1.LabelRun]}
	if m.steps[run] += objects; m.steps[run] <= 0 {
		delete(m.steps, run)
	}
}
