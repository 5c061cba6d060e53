// SPDX-License-Identifier: Apache-2.0

package runenv

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/fairsemaphore"
)

// held is a Lease that is not lost.
type held struct{}

func (held) MayDecide() bool { return true }

// Work under a permit is bounded, and waiting does not use up its time.
func TestAPermitHasAnEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s fairsemaphore.Semaphore
		e := &Env{Lease: held{}, Run: &v1alpha1.MotorRun{}}
		release, err := s.Acquire(t.Context(), "other", 1)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Minute, release)
		bounded, release, err := e.Acquire(t.Context(), &s, 1)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-bounded.Done()
		if took := time.Since(began); took != maxHeld || !errors.Is(context.Cause(bounded), ErrTimeOver) {
			t.Errorf("it ends after %v: %v", took, context.Cause(bounded))
		}
		release()
		if bounded, release, err = e.Acquire(t.Context(), &s, 1); err != nil || bounded.Err() != nil {
			t.Fatalf("after what took too long: %v", err)
		}
		release()
		if bounded.Err() == nil {
			t.Error("something goes on without its permit")
		}
	})
}
