// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Meter knows how many bytes the runs of each namespace keep in the cluster. It adds up what the cache reports, so that it lists nothing and writes
// nothing. Each replica has its own.
type Meter struct {
	mu     sync.Mutex
	used   map[string]int64
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

// Namespaces returns those whose runs keep anything, in any order.
func (m *Meter) Namespaces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.used))
}

// OnAdd implements client-go's ResourceEventHandler.
func (m *Meter) OnAdd(o any, _ bool) { m.add(o, Of(o)) }

// OnUpdate implements client-go's ResourceEventHandler. Both sizes are of the heads in the cache, so what was added is what is taken away.
func (m *Meter) OnUpdate(before, now any) { m.add(now, Of(now)-Of(before)) }

// OnDelete implements client-go's ResourceEventHandler.
func (m *Meter) OnDelete(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	m.add(o, -Of(o))
}

func (m *Meter) add(o any, bytes int64) {
	meta, ok := o.(metav1.Object)
	if !ok || bytes == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		m.used = map[string]int64{}
	}
	namespace := meta.GetNamespace()
	if m.used[namespace] += bytes; m.used[namespace] <= 0 {
		delete(m.used, namespace)
	}
}
