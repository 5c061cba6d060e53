// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The tests of this file take the managers away from all runs, so none of them runs beside others.

const (
	// takeoverWithin is the time of a Lease that nobody gave back, a new Pod's start, and the rest of the work.
	takeoverWithin = 5 * time.Minute
	// handoverWithin is how soon a manager that is told to stop has its runs go on elsewhere: before its Lease could run out,
	// which takes 8 s at the least.
	handoverWithin = 7 * time.Second
	// lapsedWithin is how soon the runs of a manager that is gone go on elsewhere: after its Lease.
	lapsedWithin = 40 * time.Second
	// leaderlessWithin is that for the leader: another one has to be found who sees the Lease lapse.
	leaderlessWithin = time.Minute
)

func TestRunsSurviveAManagerThatIsTakenAway(t *testing.T) {
	remove := func(how ...client.DeleteOption) func(*testing.T, *corev1.Pod) {
		return func(t *testing.T, pod *corev1.Pod) { deleteManager(t, pod, how...) }
	}
	tests := []struct {
		name   string
		who    func(context.Context) (*corev1.Pod, error)
		take   func(*testing.T, *corev1.Pod)
		within time.Duration
	}{
		{"the leader is deleted", leader, remove(), handoverWithin},
		{"the leader is killed", leader, killManager, leaderlessWithin},
		{"another is deleted", otherManager, remove(), handoverWithin},
		{"another is deleted at once", otherManager, remove(client.GracePeriodSeconds(0)), lapsedWithin},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "the leader is killed" {
				needNodeShell(t)
			}
			must(t, managersAreReady(t.Context()))
			s := startSurvivors(t)
			pod, err := tt.who(t.Context())
			must(t, err)
			moved := s.on(pod)
			if len(moved) == 0 {
				t.Fatalf("none of two runs was given to %s: they are with %s and %s", pod.Name, s.acting.Status.Execution.Worker, s.thinking.Status.Execution.Worker)
			}
			tt.take(t, pod)
			taken := time.Now()
			for _, run := range moved {
				awaitRun(t, run, soon, "another worker", func(r *v1alpha1.MotorRun) bool { return r.Status.Execution.Epoch > run.Status.Execution.Epoch })
				took := time.Since(taken)
				t.Logf("%s went on elsewhere %s after its manager was taken away", run.Name, took.Round(100*time.Millisecond))
				if took > tt.within {
					t.Errorf("that is more than %s", tt.within)
				}
			}
			s.wantSurvived(t, pod)
		})
	}
}

func TestRunsSurviveATimeWithoutManagers(t *testing.T) {
	must(t, managersAreReady(t.Context()))
	s := startSurvivors(t)
	awaiting := startRun(t, "ask-between")
	asked := awaitQuestion(t, awaiting)
	bringBack := removeAllManagers(t)

	// Meanwhile the tool call ends, of which nobody learns, and somebody answers.
	inSandbox(t, s.acting, "until grep -q second /workspace/effects; do sleep 0.05; done")
	respond(t, awaiting, asked.Status.Pending().ID, "after")
	bringBack()
	back := time.Now()

	s.wantSurvived(t, nil)
	answered := wantCompleted(t, awaiting, takeoverWithin)
	t.Logf("all runs were done %s after managers were started again", time.Since(back).Round(100*time.Millisecond))
	wantSurvived(t, asked, answered, nil, "ask-between", s.mark, 5, "before\nafter")
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

// on returns those that the manager in that Pod carries on.
func (s survivors) on(pod *corev1.Pod) (runs []*v1alpha1.MotorRun) {
	for _, run := range []*v1alpha1.MotorRun{s.acting, s.thinking} {
		if isOn(run, pod) {
			runs = append(runs, run)
		}
	}
	return runs
}

// wantSurvived waits until both runs are done. gone is the manager that was taken away, nil if all were.
func (s survivors) wantSurvived(t *testing.T, gone *corev1.Pod) {
	t.Helper()
	acted, thought := wantCompleted(t, s.acting, takeoverWithin), wantCompleted(t, s.thinking, takeoverWithin)
	wantSurvived(t, s.acting, acted, gone, "once", s.mark, 5, "first\nsecond\nthird")
	wantSurvived(t, s.thinking, thought, gone, "slow", s.mark, 4, "first\nsecond")
}

// wantSurvived fails unless the run was given to another worker, if its own was taken away, and went on in the same
// sandbox, every effect of it happened once, and no more than one model call was made twice.
func wantSurvived(t *testing.T, before, after *v1alpha1.MotorRun, gone *corev1.Pod, script string, mark int64, turns int, effects string) {
	t.Helper()
	if got := after.Status.Result.Summary; got != effects {
		t.Errorf("%s: the effects were %q, want each once: %q", script, got, effects)
	}
	was, is := before.Status, after.Status
	moved := gone == nil || isOn(before, gone)
	if moved != (is.Execution.Epoch > was.Execution.Epoch) || moved != (is.Execution.Worker != was.Execution.Worker) {
		t.Errorf("%s: worker %s in epoch %d after %s in epoch %d", script, is.Execution.Worker, is.Execution.Epoch, was.Execution.Worker, was.Execution.Epoch)
	}
	if is.Sandbox.PodUID != was.Sandbox.PodUID || len(is.Attempts) != 1 {
		t.Errorf("%s: the run went on in another sandbox or attempt: %+v", script, is.Attempts)
	}
	if journal := wantWholeJournal(t, after); answersIn(journal) != turns {
		t.Errorf("%s: the run has %d answers, want %d", script, answersIn(journal), turns)
	}
	extra := 0
	if moved {
		extra = 1
	}
	wantModelCalls(t, script, mark, turns, extra)
	podIsGone(t, after, soon)
}
