// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestIsolationLost(t *testing.T) {
	t.Parallel()
	at := func(s int) *metav1.Time { return new(metav1.NewTime(after(time.Duration(s) * time.Second))) }
	tests := map[string]struct {
		lost, proved *metav1.Time
		noProof      bool
		want         bool
	}{
		"nothing lost":       {nil, at(5), false, false},
		"not proved":         {at(5), nil, true, true},
		"proved, no time":    {at(5), nil, false, true},
		"proved before":      {at(5), at(4), false, true},
		"in the same second": {at(5), at(5), false, true},
		"proved after":       {at(5), at(6), false, false},
	}
	for name, tt := range tests {
		run := testRun()
		run.Status.Sandbox = &v1alpha1.SandboxStatus{PodUID: "u", CreationTime: at(0), IsolationLossTime: tt.lost}
		p := Progress{Sandbox: &v1alpha1.StepSandbox{PodUID: "u", IsolationTries: 3, ProofTime: tt.proved}}
		if tt.noProof {
			p.Sandbox = nil
		}
		if got := IsolationLost(run, p); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if IsolationLost(testRun(), Progress{}) {
		t.Error("lost without a sandbox")
	}
}

// A loss after a proof counts as a loss, and a proof after a loss as a proof, whatever the clocks of the two replicas show.
func TestIsolationOrderIsNotOfClocks(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"ahead": time.Hour, "the same": 0, "behind": -time.Hour} {
		run := testRun()
		run.Status.Sandbox = &v1alpha1.SandboxStatus{PodUID: "u", CreationTime: new(metav1.NewTime(t0))}
		var p Progress
		now := after(300 * time.Millisecond)
		for range 3 {
			p.Sandbox = &v1alpha1.StepSandbox{PodUID: "u", IsolationTries: 3, ProofTime: new(ProvedAt(run, now.Add(skew)))}
			if IsolationLost(run, p) {
				t.Errorf("clock %s: lost at %s although proved at %s", name, run.Status.Sandbox.IsolationLossTime, p.Sandbox.ProofTime)
			}
			run.Status.Sandbox.IsolationLossTime = new(LostAt(p, now))
			if !IsolationLost(run, p) {
				t.Errorf("clock %s: not lost at %s, proved at %s", name, run.Status.Sandbox.IsolationLossTime, p.Sandbox.ProofTime)
			}
		}
	}
}

// A sandbox of which an address could be reached was tried too.
func TestOpenSandboxIsTried(t *testing.T) {
	t.Parallel()
	in := func(b v1alpha1.StepSandbox) stepOption {
		return func(s *v1alpha1.MotorStep) { s.Spec.Sandbox = &b }
	}
	steps := []v1alpha1.MotorStep{
		testStep(1, 1, in(v1alpha1.StepSandbox{PodUID: "u", IsolationTries: 3})),
		testStep(1, 2, in(v1alpha1.StepSandbox{PodUID: "u", Open: []string{"metadata"}})),
		testStep(1, 3, in(v1alpha1.StepSandbox{PodUID: "u"})),
	}
	if p := ReadJournal(testRun(), steps); p.Sandbox == nil || len(p.Sandbox.Open) != 1 {
		t.Errorf("the last proof is %+v", p.Sandbox)
	}
}
