// SPDX-License-Identifier: Apache-2.0

//go:build e2e && faults

package e2e_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestFaultAPIServerIsAway(t *testing.T) {
	freshManagers(t)
	// Nobody can be given the runs meanwhile, so their workers may stop and start again without a new epoch.
	moved := func(r *v1alpha1.MotorRun) int64 { return r.Status.Execution.Epoch + 1 }
	acting, waiting := newCheck(t, "effects"), newCheck(t, "long")
	acting.interruptions, waiting.interruptions = moved, moved
	busy, inCall := acting.start("1"), waiting.start("15")
	asking := startRun(t, "ask-between")
	asked := awaitQuestion(t, asking)
	awaitCommand(t, inCall)
	awaitRun(t, busy, soon, "a step", func(r *v1alpha1.MotorRun) bool { return r.Status.Steps > 0 })

	start := stopComponent(t, "kube-apiserver")
	away := time.Now()
	passes(t, away.Add(pauseOf(25*time.Second, 2*time.Minute)))
	start()
	back := time.Now()
	t.Logf("the API server was away for %s", back.Sub(away).Round(100*time.Millisecond))
	// Its admission policies know the kinds of CustomResourceDefinitions only a moment after it answers.
	change := client.RawPatch(types.JSONPatchType, []byte(respondPatch(t, asked.Status.Pending().ID, "after")))
	must(t, wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, soon, true, func(ctx context.Context) (bool, error) {
		return suite.client.Patch(ctx, asking.DeepCopy(), change) == nil, nil
	}))
	// An API server that stops takes itself off its Service, and after minutes without it the nodes take another minute or two
	// to learn that it is back there. Until then nobody in a Pod reaches it.
	within := pauseOf(2*soon, 5*soon)
	for _, run := range []*v1alpha1.MotorRun{busy, inCall} {
		wantCompleted(t, run, within)
	}
	if s := wantCompleted(t, asking, within).Status.Result.Summary; s != "before\nafter" {
		t.Errorf("the run that waited says %q", s)
	}
	t.Logf("all runs were done %s after it was back", time.Since(back).Round(100*time.Millisecond))
	acting.wantInvariants(t)
	waiting.wantInvariants(t)
}

// Of the writes that fail, one half was carried out.
func TestFaultWritesFail(t *testing.T) {
	const runs = 10
	freshManagers(t)
	configureManagers(t, "--fault-write-failures=0.3", "--fault-seed=7")
	c := newCheck(t, "effects")
	for range runs {
		c.start("0.2")
	}
	for _, run := range c.runs {
		wantCompleted(t, run, 6*soon)
	}
	c.extra = wantFaults(t, "unsent", "unanswered")
	c.wantInvariants(t)
}

// A manager whose watches end, begin anew with 410 and are late sees an old state of everything.
func TestFaultWatchesEndAndAreLate(t *testing.T) {
	freshManagers(t)
	configureManagers(t, "--fault-watch-seconds=3", "--fault-watch-expired=0.3", "--fault-watch-delay=700ms", "--fault-seed=11")
	c := newCheck(t, "effects")
	for range 6 {
		c.start("0.2")
	}
	asking := startRun(t, "ask-between")
	asked := awaitQuestion(t, asking)
	respond(t, asking, asked.Status.Pending().ID, "after")
	cancelled := startRun(t, "sleep")
	awaitCommand(t, cancelled)
	cancel(t, cancelled)
	for _, run := range c.runs {
		wantCompleted(t, run, 3*soon)
	}
	if s := wantCompleted(t, asking, soon).Status.Result.Summary; s != "before\nafter" {
		t.Errorf("the run that asked says %q", s)
	}
	wantEnd(t, cancelled, soon, v1alpha1.PhaseCancelled, v1alpha1.ReasonCancelled)
	c.extra = wantFaults(t, "expired", "closed")
	c.wantInvariants(t)
}

// What runs on a node goes on without its kubelet.
func TestFaultKubeletRestarts(t *testing.T) {
	freshManagers(t)
	c := newCheck(t, "effects")
	c.interruptions = func(*v1alpha1.MotorRun) int64 { return 0 }
	run := c.start("0.7")
	awaitRun(t, run, soon, "a step", func(r *v1alpha1.MotorRun) bool { return r.Status.Steps > 0 })
	start := stopComponent(t, "kubelet")
	awaitRun(t, run, soon, "a step without a kubelet", func(r *v1alpha1.MotorRun) bool { return r.Status.Steps >= 6 })
	start()
	wantCompleted(t, run, soon)
	podIsGone(t, run, soon)
	c.wantInvariants(t)
}
