// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// behindFor bounds how long the cache may take to show a status that was written.
const behindFor = 5 * time.Second

// onlyFills reports whether two statuses of a pool differ in nothing but how far it is filled, and none of them is of a full or an empty one that was not
// before. A pool that runs take sandboxes from does that all the time.
func onlyFills(before, after *v1alpha1.SandboxPoolStatus) bool {
	was, is := apimeta.FindStatusCondition(before.Conditions, v1alpha1.PoolReady), apimeta.FindStatusCondition(after.Conditions, v1alpha1.PoolReady)
	if was == nil || is == nil || is.Reason != v1alpha1.ReasonPoolFilling || was.Reason != v1alpha1.ReasonPoolFilling && was.Reason != v1alpha1.ReasonPoolFull {
		return false
	}
	if (before.ReadyReplicas == 0) != (after.ReadyReplicas == 0) {
		return false
	}
	rest := after.DeepCopy()
	rest.Replicas, rest.ReadyReplicas, rest.Conditions = before.Replicas, before.ReadyReplicas, before.Conditions
	return was.ObservedGeneration == is.ObservedGeneration && equality.Semantic.DeepEqual(before, rest)
}

// waits returns how much longer a status that only fills is not written, a pause after it was found first. If it is full again by then, nothing is written.
func (m *memory) waits(pool types.NamespacedName, pause time.Duration, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pauseOf(pool)
	if p.unshown.IsZero() {
		p.unshown = now
	}
	return max(0, min(pause, p.unshown.Add(pause).Sub(now)))
}

// shows notes that the status of a pool is what its passes find, and which version was replaced for that, "" for none.
func (m *memory) shows(pool types.NamespacedName, replaced string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pauseOf(pool)
	p.unshown = time.Time{}
	if replaced != "" {
		p.replaced, p.wrote = replaced, now
	}
}

// isBehind reports whether a version of a pool that was read from the cache is the one that this process has replaced since.
func (m *memory) isBehind(pool types.NamespacedName, version string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pauseOf(pool)
	return version != "" && p.replaced == version && now.Sub(p.wrote) < behindFor
}
