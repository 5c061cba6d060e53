// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// unfinishedFirst has a new leader look at the runs that have not ended before all others. The queue gives all objects of the first list one
// priority, and among very many finished runs those that are under way would stand still for minutes.
func unfinishedFirst() handler.EventHandler {
	return handler.Funcs{CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		run, ok := e.Object.(*v1alpha1.MotorRun)
		if !ok || pass.IsFinished(run) {
			return
		}
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(run)}
		if first, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			first.AddWithOpts(priorityqueue.AddOpts{Priority: new(0)}, request)
			return
		}
		q.Add(request)
	}}
}
