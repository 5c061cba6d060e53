// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/internal/runpolicy"
)

const (
	// maxMessage keeps a status message from carrying a whole document.
	maxMessage = 1000

	minPause = 5 * time.Second
	maxPause = time.Minute
)

// pass is what a pass over an object of any kind has: the instant that it decides by, and when to come back.
type pass struct {
	now    time.Time
	wakeAt time.Time
}

// wake asks for another pass at an instant, if nothing earlier was asked for.
func (p *pass) wake(at time.Time) {
	if !at.IsZero() && (p.wakeAt.IsZero() || at.Before(p.wakeAt)) {
		p.wakeAt = at
	}
}

func (p *pass) result() ctrl.Result {
	if p.wakeAt.IsZero() {
		return ctrl.Result{}
	}
	// Never zero, which would mean never; and a little late rather than early, or the pass would find nothing due.
	return ctrl.Result{RequeueAfter: max(p.wakeAt.Sub(p.now), 0) + 10*time.Millisecond}
}

// setCondition sets a condition of an object of that generation. A message must not change while nothing else does: each change
// is a write.
func (p *pass) setCondition(
	conditions *[]metav1.Condition, generation int64, conditionType string, status metav1.ConditionStatus, reason, message string,
) {
	apimeta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: runpolicy.CutEncoded(message, maxMessage),
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(p.now),
	})
}

// passOptions are those of a controller that carries out so many passes at the same time.
func passOptions(concurrent int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrent,
		// Not the default's 17 minutes: what kept passes from succeeding may be over, and deadlines pass meanwhile.
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, maxPause),
	}
}
