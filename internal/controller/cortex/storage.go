// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/storage"
)

// Storage knows how many bytes the runs of a namespace keep in the cluster.
type Storage interface {
	Used(namespace string) int64
}

// checkStorage compares the use with its bound, and sets in the status the one and the other.
func (r *Reconciler) checkStorage(c *v1alpha1.MotorCortex) finding {
	before := shownLevel(c)
	used, bound := r.Storage.Used(c.Namespace), storage.Bound(c.Spec.Retention)
	level := storage.Shown(before, used, bound)
	if st := c.Status.Storage; st != nil && level == before && st.Max.Value() == bound {
		used = storage.Coarse(st.Used.Value(), used, bound)
	}
	c.Status.Storage = &v1alpha1.StorageStatus{Used: storage.Quantity(used), Max: storage.Quantity(bound)}
	if keep := c.Spec.Retention.MaxStorage; keep != nil {
		c.Status.Storage.Max = keep.DeepCopy()
	}
	said := fmt.Sprintf("%s of the %s that the runs of the namespace may keep in the cluster (spec.retention.maxStorage) are used.",
		c.Status.Storage.Used.String(), c.Status.Storage.Max.String())
	f := finding{v1alpha1.CortexStorageAvailable, true, v1alpha1.ReasonCortexAvailable, "The runs of the namespace have room in the cluster."}
	switch level {
	case storage.Low:
		f.reason, f.message = v1alpha1.ReasonCortexStorageLow, said+" At all of it, no further run begins. "+r.sayHow()
	case storage.Full, storage.Over:
		f.ok, f.reason, f.message = false, v1alpha1.ReasonCortexStorageFull, said+" Further runs wait until there is room. "+r.sayHow()
	case storage.Free:
	}
	return f
}

// sayHow says what makes room.
func (r *Reconciler) sayHow() string {
	if r.Services.Archive != nil {
		return "Runs of which the archive has everything are deleted before their time. Delete other finished runs, lower their retention, or raise maxStorage if etcd has room."
	}
	return "Delete finished runs, lower their retention, set up the archive (--archive-bucket of the manager), or raise maxStorage if etcd has room."
}

// shownLevel returns the level that the status shows.
func shownLevel(c *v1alpha1.MotorCortex) storage.Level {
	condition := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.CortexStorageAvailable)
	switch {
	case condition == nil:
		return storage.Free
	case condition.Reason == v1alpha1.ReasonCortexStorageFull:
		return storage.Full
	case condition.Reason == v1alpha1.ReasonCortexStorageLow:
		return storage.Low
	}
	return storage.Free
}

// tellStorage records an Event when storage becomes low. That it is full is told with Ready.
func (r *Reconciler) tellStorage(before, now *v1alpha1.MotorCortex) {
	_, is := pass.ChangedCondition(before.Status.Conditions, now.Status.Conditions, v1alpha1.CortexStorageAvailable)
	if is != nil && shownLevel(now) == storage.Low && shownLevel(before) < storage.Low {
		r.Recorder.Eventf(now, nil, corev1.EventTypeWarning, is.Reason, "CheckStorage", "%s", is.Message)
	}
}
