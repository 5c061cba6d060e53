// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheManagersAreReadyWhenTheLeasesAreTheirs(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	lease := func(holder string, age time.Duration) coordinationv1.Lease {
		return coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(10)), RenewTime: new(metav1.NewMicroTime(now.Add(-age))),
		}}
	}
	pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "manager-a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "manager-b"}}}
	for name, tt := range map[string]struct {
		leases []coordinationv1.Lease
		want   bool
	}{
		"theirs":                 {[]coordinationv1.Lease{lease("manager-a-1", 0), lease("manager-b-2", 9*time.Second)}, true},
		"one is of a dead one":   {[]coordinationv1.Lease{lease("manager-a-1", 0), lease("manager-c-2", 0)}, false},
		"one was not renewed":    {[]coordinationv1.Lease{lease("manager-a-1", 0), lease("manager-b-2", 11*time.Second)}, false},
		"one is missing":         {[]coordinationv1.Lease{lease("manager-a-1", 0)}, false},
		"one was given back":     {[]coordinationv1.Lease{lease("manager-a-1", 0), {}}, false},
		"one more is not theirs": {[]coordinationv1.Lease{lease("manager-a-1", 0), lease("manager-b-2", 0), lease("manager-c-3", 0)}, false},
	} {
		if got := heldBy(tt.leases, pods, now); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
