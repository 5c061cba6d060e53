// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

// LostRuns enqueues for the leader's controller, each time the set of live workers changes, the runs whose worker is not in it.
type LostRuns struct {
	Workers *LeaseWorkers
	Runs    client.Reader
}

// Start looks for them until the controller ends.
func (l *LostRuns) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go l.watch(ctx, queue)
	return nil
}

// WaitForSync prevents the controller from placing a run before it can see which workers live.
func (l *LostRuns) WaitForSync(ctx context.Context) error {
	select {
	case <-l.Workers.synced:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryPause is the pause before a failed list is tried again.
const retryPause = time.Second

func (l *LostRuns) watch(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var known []replica.Worker
	for {
		live, lapse := l.Workers.look()
		if !sameWorkers(known, live) {
			if err := l.enqueue(ctx, queue, live); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "list the runs of lost workers")
				lapse = l.Workers.now().Add(retryPause)
			} else {
				known = live
			}
		}
		if !l.wait(ctx, lapse) {
			return
		}
	}
}

// wait waits until the set of live workers may have changed, and reports whether to go on. Renewals do not end the wait, so a Lease that was about
// to lapse has often not lapsed when it is over.
func (l *LostRuns) wait(ctx context.Context, lapse time.Time) bool {
	var lapsed <-chan time.Time
	if !lapse.IsZero() {
		timer := time.NewTimer(max(lapse.Sub(l.Workers.now()), 0) + time.Millisecond)
		defer timer.Stop()
		lapsed = timer.C
	}
	select {
	case <-l.Workers.turned:
	case <-lapsed:
	case <-ctx.Done():
		return false
	}
	return true
}

func (l *LostRuns) enqueue(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], live []replica.Worker) error {
	var runs v1alpha1.MotorRunList
	if err := l.Runs.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range runs.Items {
		run := &runs.Items[i]
		if pass.IsAccepted(run) && !pass.IsFinished(run) && !replica.Lives(run.Status.Execution.Worker, live) {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)})
		}
	}
	return nil
}
