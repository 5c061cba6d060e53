// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
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
