// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// statusPause is how soon a status is compared again, writePause how soon it is written again while no sink begins to fail or to take signals.
	statusPause, writePause = 10 * time.Second, time.Minute
	// settledPause is how old the settled instant becomes while nothing is delivered. The next process tells at most that much again.
	settledPause = time.Hour
	// maxSay is the most bytes of a failure in the status.
	maxSay = 512
)

// writeStatus reports how the sinks of a namespace go.
func (r *Reconciler) writeStatus(ctx context.Context, c *v1alpha1.MotorCortex, sinks []channel) error {
	now := r.Now()
	r.mu.Lock()
	rested := now.Sub(r.written[c.Namespace]) >= writePause
	lanes := make([]*lane, len(sinks))
	for i := range sinks {
		lanes[i] = r.lanes[laneKey{c.Namespace, sinks[i].Name, sinks[i].people()}]
	}
	r.mu.Unlock()
	var list, people []v1alpha1.SinkStatus
	due := len(c.Status.Sinks)+len(c.Status.Receivers) != len(sinks)
	for i, l := range lanes {
		if l == nil {
			continue
		}
		was := statusOf(&c.Status, &sinks[i])
		is := l.status(was, c.Generation, now)
		due = due || was == nil || turned(was, &is) || rested && moved(was, &is)
		if sinks[i].people() {
			people = append(people, is)
			continue
		}
		list = append(list, is)
	}
	if !due {
		return nil
	}
	before := c.DeepCopy()
	c.Status.Sinks, c.Status.Receivers = list, people
	setNotificationsReady(&c.Status, c.Generation, now)
	if equality.Semantic.DeepEqual(before.Status, c.Status) {
		return nil
	}
	// With the lock, the lanes of an earlier spec cannot stand in the place of those of the present one.
	err := r.Status().Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		// The next comparison comes soon.
		return nil
	}
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[c.Namespace] = now
	return nil
}

// status returns how the lane goes. was is nil if the status does not have it.
func (l *lane) status(was *v1alpha1.SinkStatus, generation int64, now time.Time) v1alpha1.SinkStatus {
	is := v1alpha1.SinkStatus{Name: l.laneKey.sink}
	if was != nil {
		is = *was.DeepCopy()
	}
	h, settled := l.state(now)
	if settled = settled.Truncate(time.Second); settled.After(is.SettledTime.Time) || is.SettledTime.After(now) {
		// What the lane looks at again since the overlap is no reason to go back: each process would go back further than the one before.
		is.SettledTime = metav1.NewTime(settled)
	}
	is.Dropped = h.dropped
	if !h.taken.IsZero() {
		is.LastDeliveryTime = new(metav1.NewTime(h.taken.Truncate(time.Second)))
	}
	if !h.failed.IsZero() {
		is.LastFailureTime, is.LastFailure = new(metav1.NewTime(h.failed.Truncate(time.Second))), text.CutBytes(h.lastSay, maxSay)
	}
	if h.taken.IsZero() && h.failure == nil && len(is.Conditions) > 0 {
		// This process has not tried the sink yet. What the one before found counts until then.
		return is
	}
	ready := metav1.Condition{
		Type: v1alpha1.CortexSinkReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSinkTakes, Message: "The sink takes its signals.",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	}
	if f := h.failure; f != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, f.Reason, text.CutBytes(text.Shown(f.Message), maxSay)
	}
	apimeta.SetStatusCondition(&is.Conditions, ready)
	return is
}

// setNotificationsReady says of all receivers together whether they take their messages. It has the reason of the first one that does not, and names it.
func setNotificationsReady(st *v1alpha1.MotorCortexStatus, generation int64, now time.Time) {
	if len(st.Receivers) == 0 {
		apimeta.RemoveStatusCondition(&st.Conditions, v1alpha1.CortexNotificationsReady)
		return
	}
	is := metav1.Condition{
		Type: v1alpha1.CortexNotificationsReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSinkTakes, Message: "Every receiver takes its messages.",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	}
	failing := 0
	for i := range st.Receivers {
		r := &st.Receivers[i]
		c := apimeta.FindStatusCondition(r.Conditions, v1alpha1.CortexSinkReady)
		if c == nil || c.Status != metav1.ConditionFalse {
			continue
		}
		if failing++; failing == 1 {
			is.Status, is.Reason, is.Message = metav1.ConditionFalse, c.Reason, "The receiver "+r.Name+" is not told. "+c.Message
		}
	}
	if failing > 1 {
		is.Message = fmt.Sprintf("%d of %d receivers are not told. ", failing, len(st.Receivers)) + is.Message
	}
	is.Message = text.CutBytes(is.Message, 2*maxSay)
	apimeta.SetStatusCondition(&st.Conditions, is)
}

// turned reports whether a sink began to fail, to fail in another way, or to take signals.
func turned(was, is *v1alpha1.SinkStatus) bool {
	a, b := apimeta.FindStatusCondition(was.Conditions, v1alpha1.CortexSinkReady), apimeta.FindStatusCondition(is.Conditions, v1alpha1.CortexSinkReady)
	return a == nil || a.Status != b.Status || a.Reason != b.Reason || a.ObservedGeneration != b.ObservedGeneration
}

// moved reports whether there is something to write down that can wait. A sink that is only tried again is no reason.
func moved(was, is *v1alpha1.SinkStatus) bool {
	return !equality.Semantic.DeepEqual(was.LastDeliveryTime, is.LastDeliveryTime) || was.Dropped != is.Dropped ||
		is.SettledTime.Sub(was.SettledTime.Time) >= settledPause
}
