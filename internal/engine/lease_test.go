// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// For any result of the last requests, the runs of a replica that ends do not wait until its Lease has run out.
func TestTheLeaseIsGivenBack(t *testing.T) {
	for name, fault := range map[string]func(n int, carryOut func() error) error{
		"the last renewal has no answer": func(n int, carryOut func() error) error {
			err := carryOut()
			if n == 1 {
				return context.Canceled
			}
			return err
		},
		"the removal is not carried out at first": func(n int, carryOut func() error) error {
			if n == 2 {
				return errors.New("the API server is busy")
			}
			return carryOut()
		},
		"the removal has no answer": func(n int, carryOut func() error) error {
			err := carryOut()
			if n == 2 {
				return errors.New("the connection is broken")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &leaseServer{}
				r := startReplica(t, s, "manager-0-a")
				r.want(true, "with the Lease")
				n := 0
				s.set(func(_ context.Context, carryOut func() error) error {
					if n++; n == 1 {
						r.end()
					}
					return fault(n, carryOut)
				})
				begin := time.Now()
				<-r.ended
				if lease, _ := s.now(); lease != nil || time.Since(begin) > 2*renewEvery {
					t.Errorf("after %s the Lease is %+v", time.Since(begin), lease)
				}
			})
		})
	}
}

// The leader gives out as many slots as the Lease says. A replica without a bound says nothing, also where an earlier process did.
func TestTheLeaseSaysHowManySlotsThereAre(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]string{0: "", 266: "266"} {
		l := &lease{worker: "manager-0-a", slots: slots}
		o := &coordinationv1.Lease{}
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, v1alpha1.AnnotationSlots, "8")
		if got := l.fill(o, time.Unix(1000, 0)).Annotations[v1alpha1.AnnotationSlots]; got != want {
			t.Errorf("%d slots: the Lease says %q", slots, got)
		}
	}
}
