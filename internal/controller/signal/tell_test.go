// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
)

func TestAnObjectOfAnotherUIDIsNotTheSubject(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		run := g.accept("run")
		s := subjectOf(kindRun, run)
		if err := g.r.get(g.ctx, s, &v1alpha1.MotorRun{}); err != nil {
			t.Errorf("got %v", err)
		}
		s.uid = "another"
		if err := g.r.get(g.ctx, s, &v1alpha1.MotorRun{}); !apierrors.IsNotFound(err) {
			t.Errorf("got %v", err)
		}
	})
}

// Only the newest answer of the model is told. Summaries, checks and the end of an attempt are none.
func TestTheNewestStep(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		run := g.accept("run")
		newest := func(after signal.Position) string {
			s, err := g.r.newest(g.ctx, run, after)
			g.must(err)
			if s == nil {
				return ""
			}
			return s.Spec.Content
		}
		if got := newest(signal.Position{}); got != "" {
			t.Errorf("before the first step, %q", got)
		}
		g.step(run, 1, 1, "one")
		g.step(run, 1, 2, "two")
		other := &v1alpha1.MotorStep{}
		g.must(g.c.Get(g.ctx, subject{namespace: "ns", name: "run-a01-s0002"}.key(), other))
		other.Name, other.ResourceVersion = "run-a01-s0003", ""
		other.Spec.Index, other.Spec.Type = 3, v1alpha1.StepSummary
		g.must(g.c.Create(g.ctx, other))
		if got := newest(signal.Position{}); got != "two" {
			t.Errorf("got %q", got)
		}
		if got := newest(signal.Position{Attempt: 1, Index: 2}); got != "" {
			t.Errorf("after the newest, %q", got)
		}
		g.step(run, 2, 1, "three")
		if got := newest(signal.Position{Attempt: 1, Index: 1}); got != "three" {
			t.Errorf("of the next attempt, %q", got)
		}
		other.Name, other.ResourceVersion, other.OwnerReferences = "run-a02-s0002", "", nil
		other.Spec.Attempt, other.Spec.Index, other.Spec.Type, other.Spec.Content = 2, 2, v1alpha1.StepTurn, "of another run"
		g.must(g.c.Create(g.ctx, other))
		if got := newest(signal.Position{}); got != "three" {
			t.Errorf("with a step of another run, %q", got)
		}
	})
}
