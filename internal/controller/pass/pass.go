// SPDX-License-Identifier: Apache-2.0

// Package pass has the common parts of one pass of a reconciler over an object of any kind: the instant for its decisions, the time of its return,
// the conditions and the Events that it writes, and the memory until the next pass.
package pass

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

const (
	// MaxMessage bounds a status message, so that it cannot carry a whole document.
	MaxMessage = 1000

	// MinPause and MaxPause bound how soon a pass checks again any state that no watch reports.
	MinPause = 5 * time.Second
	MaxPause = time.Minute
)

// Pass is the common part of a pass over an object of any kind: the instant that its decisions use, and when to come back.
type Pass struct {
	Now    time.Time
	wakeAt time.Time
}

// Wake asks for another pass at an instant, if nothing earlier was asked for.
func (p *Pass) Wake(at time.Time) {
	if !at.IsZero() && (p.wakeAt.IsZero() || at.Before(p.wakeAt)) {
		p.wakeAt = at
	}
}

// Result returns when the object is reconciled again.
func (p *Pass) Result() ctrl.Result {
	if p.wakeAt.IsZero() {
		return ctrl.Result{}
	}
	// Never zero, which would mean never; and a little late rather than early, or the pass would find nothing due.
	return Again(max(p.wakeAt.Sub(p.Now), 0) + 10*time.Millisecond)
}

// Again requests another pass after a pause. An object that was there when the controller began has a low priority in its first pass, and would retain
// it for its timers: on a busy leader the deadlines of quiet runs would wait behind the events of all others.
func Again(pause time.Duration) ctrl.Result {
	return ctrl.Result{RequeueAfter: pause, Priority: new(0)}
}

// Retry is the result of a pass with an error, if it has one: the queue retries it, with the priority of Again.
func Retry() ctrl.Result { return ctrl.Result{Priority: new(0)} }

// SetCondition sets a condition of an object of that generation. A message must not change while nothing else does: each change
// is a write.
func (p *Pass) SetCondition(
	conditions *[]metav1.Condition, generation int64, conditionType string, status metav1.ConditionStatus, reason, message string,
) {
	apimeta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: fit.CutEncoded(message, MaxMessage),
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(p.Now),
	})
}

// Options returns the options of a controller with that many concurrent passes.
func Options(concurrent int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrent,
		// The default's maximum of 17 minutes is too long: the cause of the failures may be over, and deadlines pass meanwhile.
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, MaxPause),
	}
}

// ConflictPause is the pause in which the cache catches up with the write that won.
const ConflictPause = 50 * time.Millisecond
