// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/storage"
)

// lookPause is the pause between two comparisons of all uses with their bounds. It reads the cache alone, and lists the runs of those namespaces in
// which room is scarce.
const lookPause = 3 * time.Second

// Meter knows which namespaces have runs, and when it knows all of them.
type Meter interface {
	Usage
	Namespaces() []string
	HasSynced() bool
}

// Watch enqueues what concerns a namespace whose room is, or was, scarce. It is a source of a controller.
type Watch struct {
	Budget *Budget
	Meter  Meter
	// Concerned returns the requests about a namespace. level is that of now, and changed reports whether the shown level is another than before.
	Concerned func(ctx context.Context, namespace string, level storage.Level, changed bool) ([]reconcile.Request, error)
	// scarce are the shown levels of namespaces that are not Free.
	scarce map[string]storage.Level
}

// Start looks until the controller ends.
func (w *Watch) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.scarce = map[string]storage.Level{}
	go func() {
		every := time.NewTicker(lookPause)
		defer every.Stop()
		for {
			w.look(ctx, queue)
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// syncPause is the pause between two questions whether everything is counted.
const syncPause = 50 * time.Millisecond

// WaitForSync prevents the controller from admitting a run before it knows what the others keep.
func (w *Watch) WaitForSync(ctx context.Context) error {
	every := time.NewTicker(syncPause)
	defer every.Stop()
	for !w.Meter.HasSynced() {
		select {
		case <-every.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// look compares each namespace once. A namespace that keeps nothing any more is looked at once more.
func (w *Watch) look(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	namespaces := w.Meter.Namespaces()
	seen := make(map[string]bool, len(namespaces))
	for _, ns := range namespaces {
		seen[ns] = true
	}
	for ns := range w.scarce {
		if !seen[ns] {
			namespaces = append(namespaces, ns)
		}
	}
	for _, ns := range namespaces {
		if err := w.compare(ctx, queue, ns); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "find what the use of storage concerns", "namespace", ns)
		}
	}
}

func (w *Watch) compare(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], namespace string) error {
	bound, err := w.Budget.bound(ctx, namespace)
	if err != nil {
		return err
	}
	used, before := w.Meter.Used(namespace), w.scarce[namespace]
	level, shown := storage.LevelOf(used, bound), storage.Shown(before, used, bound)
	if level == storage.Free && shown == storage.Free && before == storage.Free {
		return nil
	}
	requests, err := w.Concerned(ctx, namespace, level, shown != before)
	if err != nil {
		return err
	}
	for _, r := range requests {
		queue.Add(r)
	}
	if w.scarce[namespace] = shown; shown == storage.Free {
		delete(w.scarce, namespace)
	}
	return nil
}

// Runs returns the runs that the level of their namespace concerns: those that may begin now, and those that make room.
func (b *Budget) Runs(ctx context.Context, namespace string, level storage.Level, _ bool) ([]reconcile.Request, error) {
	var requests []reconcile.Request
	runs, err := pass.RunsOf(ctx, b.Cache, namespace)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		if level < storage.Full && runpolicy.AwaitsStorage(&runs[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&runs[i])})
		}
	}
	early, err := b.choose(ctx, namespace, runs)
	for _, run := range early {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
	}
	return requests, err
}

// Cortex returns the MotorCortex whose status shows the level, if it shows another one.
func (b *Budget) Cortex(_ context.Context, namespace string, _ storage.Level, changed bool) ([]reconcile.Request, error) {
	if !changed {
		return nil, nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: v1alpha1.CortexName}}}, nil
}
