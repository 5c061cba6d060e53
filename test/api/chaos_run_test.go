// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/chaos"
)

func TestChaosRunComesToItsEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		settings chaos.Settings
		kinds    []chaos.Kind
	}{
		"writes fail":         {chaos.Settings{Unsent: 0.2, Unanswered: 0.2}, []chaos.Kind{chaos.Unsent, chaos.Unanswered}},
		"watches end":         {chaos.Settings{WatchLife: 700 * time.Millisecond}, []chaos.Kind{chaos.Closed}},
		"watches are too old": {chaos.Settings{WatchLife: 700 * time.Millisecond, Expired: 0.4}, []chaos.Kind{chaos.Closed, chaos.Expired}},
		"the cache is stale":  {chaos.Settings{WatchDelay: time.Second}, nil},
		"all of it": {
			chaos.Settings{Unsent: 0.15, Unanswered: 0.15, WatchLife: 2 * time.Second, Expired: 0.3, WatchDelay: 300 * time.Millisecond},
			[]chaos.Kind{chaos.Unsent, chaos.Unanswered, chaos.Closed},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newChaosRig(t, tt.settings)
			r.wantInvariants()
			for _, kind := range tt.kinds {
				if r.faults.Count(kind) == 0 {
					t.Errorf("no fault of kind %s happened", kind)
				}
			}
		})
	}
}

// The API server is away for longer than the Lease of the manager, after each of the first steps.
func TestChaosAPIServerComesAndGoes(t *testing.T) {
	r := newChaosRig(t, chaos.Settings{})
	for i := range int32(3) {
		r.waitFor(func() bool { return r.status().Steps > i })
		r.faults.Set(chaos.Settings{Away: true})
		select {
		case <-time.After(4 * time.Second):
		case <-r.ctx.Done():
			t.Fatal(r.ctx.Err())
		}
		r.faults.Set(chaos.Settings{})
	}
	r.wantInvariants()
}

// The API server is away in the middle of a run, for longer than the run may take.
func TestChaosAPIServerIsAwayForLongerThanTheRunHas(t *testing.T) {
	const away = 20 * time.Minute
	r := newChaosRig(t, chaos.Settings{})
	r.waitFor(func() bool { return r.status().Steps > 1 })
	r.faults.Set(chaos.Settings{Away: true})
	r.skipped.Store(int64(away))
	r.waitFor(func() bool { return r.faults.Count(chaos.Away) > 20 })
	r.faults.Set(chaos.Settings{})
	r.wantInvariants()
	if st := r.status(); st.Paused.DurationSeconds < int64(away/time.Second) || st.Paused.ObservedTime == nil {
		t.Errorf("the time without a manager is not counted: %+v", st.Paused)
	}
}

// The clock of the manager's machine is wrong. Everything in the API goes by the API server's.
func TestChaosClockOfTheManagerIsWrong(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			r := newChaosRig(t, chaos.Settings{}, func(r *chaosRig) {
				r.readsClock = true
				r.skipped.Store(int64(ahead))
			})
			r.wantInvariants()
			st := r.status()
			if off := time.Until(st.CompletionTime.Time).Abs(); off > 10*time.Minute {
				t.Errorf("the run ended at %s by the manager's clock", st.CompletionTime)
			}
		})
	}
}

// Somebody else writes the run all the time, its status too.
func TestChaosAnotherWriter(t *testing.T) {
	r := newChaosRig(t, chaos.Settings{})
	ctx, stop := context.WithCancel(r.ctx)
	ended := make(chan int, 1)
	go func() {
		writes := 0
		for ; ctx.Err() == nil; writes++ {
			var run v1alpha1.MotorRun
			if admin.Get(ctx, client.ObjectKeyFromObject(r.run), &run) != nil {
				continue
			}
			before := run.DeepCopy()
			now := time.Now().Format(time.RFC3339Nano)
			if writes%2 == 0 {
				metav1.SetMetaDataAnnotation(&run.ObjectMeta, "example.org/storm", now)
				_ = admin.Patch(ctx, &run, client.MergeFrom(before))
				continue
			}
			// The whole list of conditions is replaced: without the lock, one that was written meanwhile would be lost.
			apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: "Storm", Status: metav1.ConditionTrue, Reason: "Blowing", Message: now})
			_ = manager.Status().Patch(ctx, &run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}
		ended <- writes
	}()
	r.wantInvariants()
	stop()
	if writes := <-ended; writes < 20 {
		t.Errorf("the other writer wrote %d times", writes)
	}
}
