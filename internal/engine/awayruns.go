// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// awayRuns maps a MotorCortex that was changed to the runs of its namespace that wait for their model here: it may be another one now.
func (e *Engine) awayRuns(_ context.Context, o client.Object) []reconcile.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []reconcile.Request
	for key, l := range e.loops {
		if key.Namespace != o.GetNamespace() {
			continue
		}
		// A loop that runs may have asked the former model, and be about to wait for it.
		l.changed = true
		if !l.running && l.away {
			l.retryAnew()
			list = append(list, reconcile.Request{NamespacedName: key})
		}
	}
	return list
}

// retryAnew has the loop started at once, and look for its model itself. By what other runs read some seconds ago it could find the former key, and wait on
// for the endpoint that refused that.
func (l *worker) retryAnew() {
	l.retryAt, l.memory.Outage = time.Time{}, nil
}
