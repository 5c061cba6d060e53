// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The tests of this file take the managers away from all runs, so none of them runs beside others.

// takeoverWithin is the time of a Lease that nobody gave back, a new Pod's start, and the rest of the work.
const takeoverWithin = 90 * time.Second

func TestRunsSurviveALeaderThatIsDeleted(t *testing.T) {
	runsSurvive(t, func(t *testing.T, pod *corev1.Pod) { deleteManager(t, pod) })
}

func TestRunsSurviveALeaderThatIsDeletedAtOnce(t *testing.T) {
	runsSurvive(t, func(t *testing.T, pod *corev1.Pod) { deleteManager(t, pod, client.GracePeriodSeconds(0)) })
}

func TestRunsSurviveALeaderThatIsKilled(t *testing.T) {
	must(t, managersAreReady(t.Context()))
	runsSurvive(t, startKiller(t))
}

// runsSurvive removes the leader while one run is in the middle of a tool call and another in the middle of a model
// call.
func runsSurvive(t *testing.T, remove func(*testing.T, *corev1.Pod)) {
	t.Helper()
	must(t, managersAreReady(t.Context()))
	s := startSurvivors(t)
	old, err := leader(t.Context())
	must(t, err)
	if old == nil || !strings.HasPrefix(s.acting.Status.Worker, old.Name+"-") {
		t.Fatalf("the run is carried on by %s, which is not the leader %v", s.acting.Status.Worker, old)
	}
	remove(t, old)
	removed := time.Now()
	s.wantSurvived(t)
	t.Logf("both runs were done %s after the leader was removed", time.Since(removed).Round(100*time.Millisecond))
}

func TestRunsSurviveATimeWithoutManagers(t *testing.T) {
	must(t, managersAreReady(t.Context()))
	s := startSurvivors(t)
	awaiting := startRun(t, "ask-between")
	asked := awaitQuestion(t, awaiting)
	bringBack := removeAllManagers(t)

	// Meanwhile the tool call ends, of which nobody learns, and somebody answers.
	inSandbox(t, s.acting, "until grep -q second /workspace/effects; do sleep 0.05; done")
	respond(t, awaiting, asked.Status.PendingInput.ID, "after")
	bringBack()
	back := time.Now()

	s.wantSurvived(t)
	answered := wantCompleted(t, awaiting, takeoverWithin)
	t.Logf("all runs were done %s after managers were started again", time.Since(back).Round(100*time.Millisecond))
	wantSurvived(t, asked, answered, "ask-between", s.mark, 5, "before\nafter")
}

// survivors are two runs that are in the middle of something.
type survivors struct {
	// acting is in a tool call that has its effect some seconds later, thinking in a model call.
	acting, thinking *v1alpha1.MotorRun
	// mark is the last model call before them.
	mark int64
}

func startSurvivors(t *testing.T) survivors {
	t.Helper()
	s := survivors{mark: lastModelCall(t)}
	acting, thinking := startRun(t, "once"), startRun(t, "slow")
	awaitModelCall(t, "slow", 1, s.mark)
	s.thinking = awaitRun(t, thinking, soon, "a step", func(r *v1alpha1.MotorRun) bool { return r.Status.Steps == 1 })
	s.acting = awaitCommand(t, acting)
	return s
}

// wantSurvived waits until both runs are done.
func (s survivors) wantSurvived(t *testing.T) {
	t.Helper()
	acted, thought := wantCompleted(t, s.acting, takeoverWithin), wantCompleted(t, s.thinking, takeoverWithin)
	wantSurvived(t, s.acting, acted, "once", s.mark, 5, "first\nsecond\nthird")
	wantSurvived(t, s.thinking, thought, "slow", s.mark, 4, "first\nsecond")
}

// wantSurvived fails unless the run was given to another worker and went on in the same sandbox, every effect of it
// happened once, and no more than one model call was made twice.
func wantSurvived(t *testing.T, before, after *v1alpha1.MotorRun, script string, mark int64, turns int, effects string) {
	t.Helper()
	if got := after.Status.Result.Summary; got != effects {
		t.Errorf("%s: the effects were %q, want each once: %q", script, got, effects)
	}
	was, is := before.Status, after.Status
	if is.Epoch <= was.Epoch || is.Worker == was.Worker {
		t.Errorf("%s: worker %s in epoch %d after %s in epoch %d", script, is.Worker, is.Epoch, was.Worker, was.Epoch)
	}
	if is.Sandbox.PodUID != was.Sandbox.PodUID {
		t.Errorf("%s: the run went on in another sandbox", script)
	}
	if journal := wantWholeJournal(t, after); len(journal) != turns {
		t.Errorf("%s: the run has %d steps, want %d", script, len(journal), turns)
	}
	wantModelCalls(t, script, mark, turns, 1)
	podIsGone(t, after, soon)
}
