// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The number of live workers of each version is reported when it changes, and at no renewal.
func TestVersionsOfReplicasAreTold(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	w := NewLeaseWorkers(nil, "ns", func() time.Time { return now })
	var told []map[string]int
	w.Show = func(byVersion map[string]int) { told = append(told, byVersion) }
	renew := func(pod, holder, version string) {
		now = now.Add(time.Second)
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "worker-" + pod, Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentWorker},
		}}
		if version != "" {
			l.Annotations = map[string]string{v1alpha1.AnnotationVersion: version}
		}
		l.Spec.HolderIdentity, l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &holder, new(metav1.NewMicroTime(now)), new(int32(10))
		w.observe(l)
	}
	for range 3 {
		renew("a", "a-1", "")
	}
	for range 3 {
		renew("a", "a-1", "")
		renew("b", "b-1", "0.2.0")
	}
	// The container of the first one is started again, with the other image.
	renew("a", "a-2", "0.2.0")
	// The other one is gone without a word.
	for range 12 {
		renew("a", "a-2", "0.2.0")
	}
	want := []map[string]int{{"unknown": 1}, {"unknown": 1, "0.2.0": 1}, {"0.2.0": 2}, {"0.2.0": 1}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if len(w.versions) != 1 {
		t.Errorf("versions of %v are kept", w.versions)
	}
}

// A replica says in its Lease how many slots it has. One that does not, or says nonsense, has no bound.
func TestSlotsOfReplicasAreRead(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]int{"266": 266, "": 0, "many": 0, "-1": -1} {
		now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
		w := NewLeaseWorkers(nil, "ns", func() time.Time { return now })
		close(w.synced)
		w.observe(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "worker-a", Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentWorker},
				Annotations: map[string]string{v1alpha1.AnnotationSlots: said},
			},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new("a-1"), RenewTime: new(metav1.NewMicroTime(now)), LeaseDurationSeconds: new(int32(10))},
		})
		if live := w.Live(); len(live) != 1 || live[0].Slots != want {
			t.Errorf("%q: %+v", said, live)
		}
	}
}
