// SPDX-License-Identifier: Apache-2.0

//go:build e2e && faults

package e2e_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/chaos"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
)

// killedBySignal is the exit code of a process that got SIGKILL.
const killedBySignal = 137

func TestFaultManagerIsKilledAtEachPointOfAStep(t *testing.T) {
	const step = ":2"
	for _, point := range []attempt.FaultPoint{
		attempt.BeforeIntent, attempt.AfterIntent, attempt.AfterDispatch, attempt.AfterResult, attempt.AfterSettle,
	} {
		t.Run(string(point), func(t *testing.T) {
			freshManagers(t)
			c := newCheck(t, "effects")
			run := c.start("0.3", func(r *v1alpha1.MotorRun) {
				r.Annotations = map[string]string{chaos.KillAnnotation: string(point) + step}
			})
			began := time.Now()
			done := wantCompleted(t, run, takeoverWithin)
			t.Logf("done after %s, in epoch %d", time.Since(began).Round(100*time.Millisecond), done.Status.Execution.Epoch)
			if done.Status.Execution.Epoch < 2 {
				t.Errorf("nobody was killed: the run ended in epoch %d", done.Status.Execution.Epoch)
			}
			wantAKilledManager(t)
			c.wantInvariants(t)
		})
	}
}

// wantAKilledManager fails unless one of the managers was ended as if by SIGKILL.
func wantAKilledManager(t *testing.T) {
	t.Helper()
	pods, err := managerPods(t.Context())
	must(t, err)
	for i := range pods {
		for _, s := range pods[i].Status.ContainerStatuses {
			for _, state := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
				if state != nil && state.ExitCode == killedBySignal {
					return
				}
			}
		}
	}
	t.Error("no manager was killed")
}

// A replica that stood still for longer than its Lease does not know that its runs were given away, and goes on where it
// was. It must come to nothing.
func TestFaultManagerIsFrozenPastItsLease(t *testing.T) {
	needNodeShell(t)
	tests := []struct {
		name string
		who  func(context.Context) (*corev1.Pod, error)
		// call is how long the call takes, which is to end after the other worker has taken it over.
		call string
	}{{"the leader", leader, "35"}, {"another", otherManager, "20"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			freshManagers(t)
			c := newCheck(t, "long")
			pod, err := tt.who(t.Context())
			must(t, err)
			// Runs are shared out evenly, but a replica that has just come gets none before it has renewed its Lease.
			var runs []*v1alpha1.MotorRun
			var frozen *v1alpha1.MotorRun
			for range 4 {
				runs = append(runs, c.start(tt.call))
				if now := awaitCommand(t, runs[len(runs)-1]); isOn(now, pod) {
					frozen = now
					break
				}
			}
			if frozen == nil {
				t.Fatalf("none of %d runs is with %s", len(runs), pod.Name)
			}
			signalPod(t, pod, "STOP")
			thaw := func(ctx context.Context) error { return trySignal(ctx, pod, "CONT") }
			thawed := false
			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
				defer cancel()
				if !thawed {
					t.Log("thaw the manager:", thaw(ctx))
				}
			})
			began := time.Now()
			awaitRun(t, frozen, soon, "another worker", func(r *v1alpha1.MotorRun) bool { return r.Status.Execution.Epoch > frozen.Status.Execution.Epoch })
			t.Logf("the run went on elsewhere after %s", time.Since(began).Round(100*time.Millisecond))
			if err := thaw(t.Context()); err != nil {
				// Its node may have lost patience with it before.
				t.Logf("the frozen manager does not thaw: %v", err)
			}
			thawed = true
			for _, run := range runs {
				wantCompleted(t, run, takeoverWithin)
			}
			c.wantInvariants(t)
		})
	}
}
