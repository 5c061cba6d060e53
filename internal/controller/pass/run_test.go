// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestPauseGrowsWithTheAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]time.Duration{0: MinPause, time.Minute: 6 * time.Second, 5 * time.Minute: 30 * time.Second, time.Hour: MaxPause} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-age))}}
		if got := NewRun(run, now).Pause(); got != want {
			t.Errorf("after %s: %s, want %s", age, got, want)
		}
	}
}

// The creator of a new run may have made just now what the run needs, so no older answer counts for it.
func TestANewRunTakesNoOldAnswer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	if got := NewRun(run, now).Age(); got != 0 {
		t.Errorf("one that was never looked at takes answers of %s ago", got)
	}
	s := NewRun(run, now)
	s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonModelSecretNotFound, "", true)
	if got := s.Age(); got != 0 {
		t.Errorf("in its first pass it takes answers of %s ago", got)
	}
	if got := NewRun(s.Run, now).Age(); got != MaxPause/2 {
		t.Errorf("one that waits takes answers of %s ago", got)
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	s := NewRun(&v1alpha1.MotorRun{}, time.Now())
	if s.Changed() {
		t.Error("a pass that did nothing has changed the status")
	}
	s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonQueued, "It waits.", true)
	c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionAccepted)
	if c == nil || c.Status != metav1.ConditionFalse || s.Blocked != v1alpha1.ConditionAccepted || !s.Stalled || !s.Changed() {
		t.Errorf("%+v, blocked by %q", c, s.Blocked)
	}
}

func TestHasSandbox(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		of   *v1alpha1.SandboxStatus
		want bool
	}{
		"neither":       {nil, nil, false},
		"not yet named": {pod, nil, false},
		"gone":          {nil, &v1alpha1.SandboxStatus{PodUID: "1", PodIP: "10.0.0.1"}, false},
		"another one":   {pod, &v1alpha1.SandboxStatus{PodUID: "2", CreationTime: &metav1.Time{}}, false},
		"this one":      {pod, &v1alpha1.SandboxStatus{PodUID: "1", CreationTime: &metav1.Time{}}, true},
	} {
		s := NewRun(&v1alpha1.MotorRun{}, time.Now())
		s.Pod, s.Run.Status.Sandbox = tt.pod, tt.of
		if got := s.HasSandbox(); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
