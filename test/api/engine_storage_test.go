// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
)

// scarce is a storage in which no run may go on while it is true.
type scarce struct{ atomic.Bool }

func (s *scarce) Held(context.Context, string) (string, error) {
	if s.Load() {
		return "There is no room.", nil
	}
	return "", nil
}

// Far above the bound of its namespace a run ends the call that it is in, waits, and goes on when there is room. No answer is asked for meanwhile, and
// no attempt is lost.
func TestEngineWaitsForStorage(t *testing.T) {
	room := &scarce{}
	model := &stubModel{answers: threeSteps(), fail: func(n int32) error {
		room.Store(n == 1)
		return nil
	}}
	r := newEngineRig(t, model, oneAttempt)
	r.startEngineWith("worker-1", func(e *engine.Engine) { e.Storage = room })
	steps := r.steps(func(steps []v1alpha1.MotorStep) bool { return slices.ContainsFunc(steps, isOutage) })
	i := slices.IndexFunc(steps, isOutage)
	if o := steps[i].Spec.Outage; o.Reason != v1alpha1.ReasonStorageFull || !o.MustAct || o.Message != "There is no room." {
		t.Errorf("it waits for %+v", o)
	}
	if first := steps[slices.IndexFunc(steps, func(s v1alpha1.MotorStep) bool { return !isOutage(s) })]; first.Status.Phase != v1alpha1.StepSettled {
		t.Errorf("the call before it is %s", first.Status.Phase)
	}
	if n := model.asked.Load(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	room.Store(false)
	turns := slices.DeleteFunc(r.steps(journalEnded), isOutage)
	if len(turns) != 3 || !turns[2].Spec.Final || turns[2].Spec.Content != "done" {
		t.Errorf("the turns are %+v", turns)
	}
}
