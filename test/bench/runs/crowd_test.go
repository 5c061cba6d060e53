// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestEachOfACrowdIsMadeOnce(t *testing.T) {
	t.Parallel()
	var made [100]atomic.Int32
	if err := inParallel(t.Context(), len(made), func(_ context.Context, i int) error {
		made[i].Add(1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i := range made {
		if n := made[i].Load(); n != 1 {
			t.Errorf("number %d was made %d times", i, n)
		}
	}
}

func TestTheFirstErrorEndsACrowd(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var made atomic.Int32
	err := inParallel(t.Context(), 10_000, func(context.Context, int) error {
		made.Add(1)
		return broken
	})
	if !errors.Is(err, broken) || made.Load() > creators {
		t.Errorf("%d were made: %v", made.Load(), err)
	}
}

func TestARunWaitsForItsOwnReasonAlone(t *testing.T) {
	t.Parallel()
	waits := waitsFor(v1alpha1.ReasonCopiedRun)
	for _, tt := range []struct {
		condition metav1.Condition
		want      bool
	}{
		{metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCopiedRun}, true},
		{metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCredentialSecretNotFound}, false},
		{metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted}, false},
		{metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCopiedRun}, false},
	} {
		run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{Conditions: []metav1.Condition{tt.condition}}}
		if got := waits(run); got != tt.want {
			t.Errorf("%+v: %t", tt.condition, got)
		}
	}
}
