// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// lostWithin is how soon a run has to know that its sandbox is gone.
const lostWithin = time.Minute

func onUnknown(policy v1alpha1.UnknownPolicy) func(*v1alpha1.MotorRun) {
	return func(r *v1alpha1.MotorRun) { r.Spec.Approval = &v1alpha1.RunApproval{OnUnknown: policy} }
}

func withAttempts(n int32) func(*v1alpha1.MotorRun) {
	return func(r *v1alpha1.MotorRun) { r.Spec.MaxAttempts = n }
}

func deleteSandbox(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	key := sandboxOf(run)
	must(t, suite.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}))
}

func evictSandbox(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	key := sandboxOf(run)
	must(t, suite.clientset.PolicyV1().Evictions(key.Namespace).Evict(t.Context(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
	}))
}

// A run that lost nothing but its workspace starts over by itself.
func TestASandboxThatIsTakenAwayIsReplaced(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*testing.T, *v1alpha1.MotorRun){"Pod deleted": deleteSandbox, "Pod evicted": evictSandbox} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := startRun(t, "ask-between")
			asked := awaitQuestion(t, run)
			take(t, run)
			again := awaitRun(t, run, soon, "the question of another attempt", func(r *v1alpha1.MotorRun) bool {
				return r.Status.Pending() != nil && r.Status.Pending().ID != asked.Status.Pending().ID
			})
			if p := again.Status.Pending(); p.Kind != v1alpha1.InputQuestion || !strings.HasPrefix(p.ID, "a2-") {
				t.Errorf("the run waits for %+v", p)
			}
			if again.Status.Sandbox.PodUID == asked.Status.Sandbox.PodUID {
				t.Error("the attempt has the Pod of the one before")
			}
			respond(t, run, again.Status.Pending().ID, "after")
			done := wantCompleted(t, run, soon)
			// The workspace was empty again.
			if done.Status.Result.Summary != "before\nafter" {
				t.Errorf("summary %q", done.Status.Result.Summary)
			}
			wantReplacement(t, done)
			wantWholeJournal(t, done)
			podIsGone(t, run, soon)
		})
	}
}

// wantReplacement fails unless the run has two attempts, the second because the sandbox of the first was lost.
func wantReplacement(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	if len(run.Status.Attempts) != 2 {
		t.Fatalf("the run has %d attempts: %+v", len(run.Status.Attempts), run.Status.Attempts)
	}
	first, second := run.Status.Attempts[0], run.Status.Attempts[1]
	if f := first.Failure; f == nil || f.Category != v1alpha1.CategoryInfraFailure || f.Reason != v1alpha1.ReasonSandboxLost || f.Message == "" || first.CompletionTime == nil {
		t.Errorf("the first attempt ended with %+v", first)
	}
	if first.Cause != v1alpha1.CauseFirst || second.Cause != v1alpha1.CauseInfrastructure || second.Failure != nil {
		t.Errorf("the attempts were made because of %s and %s; the second ended with %+v", first.Cause, second.Cause, second.Failure)
	}
	if !strings.Contains(second.RecoveryContext, "workspace") {
		t.Errorf("the model was not told that the workspace is another one: %q", second.RecoveryContext)
	}
}

func TestACallThatWasLostWithItsSandbox(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change []func(*v1alpha1.MotorRun)
		want   func(*testing.T, *v1alpha1.MotorRun)
	}{
		"a person is asked": {
			[]func(*v1alpha1.MotorRun){withAttempts(2)},
			func(t *testing.T, run *v1alpha1.MotorRun) {
				asked := wantRetryQuestion(t, run, 1)
				if p := asked.Status.Pending(); !strings.Contains(p.Question, "bash") {
					t.Errorf("the question does not say which call was lost: %s", p.Question)
				}
				podIsGone(t, run, soon)
				retry(t, run, 1, "")
				wantReplaced(t, run, v1alpha1.CauseRetry)
			},
		},
		"the model is told": {
			[]func(*v1alpha1.MotorRun){onUnknown(v1alpha1.UnknownTellModel)},
			func(t *testing.T, run *v1alpha1.MotorRun) { wantReplaced(t, run, v1alpha1.CauseInfrastructure) },
		},
		"nobody can try again": {nil, func(t *testing.T, run *v1alpha1.MotorRun) {
			ended := wantEnd(t, run, lostWithin, v1alpha1.PhaseFailed, v1alpha1.ReasonSandboxLost)
			if f := attemptAt(t, ended, 1).Failure; f == nil || f.Category != v1alpha1.CategoryInfraFailure || f.Message == "" {
				t.Errorf("the failure %+v is not one of the infrastructure", f)
			}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := startRun(t, "crash", append(tt.change, counted(t))...)
			awaitCommand(t, run)
			deleteSandbox(t, run)
			tt.want(t, run)
			podIsGone(t, run, soon)
		})
	}
}

// wantReplaced waits until the second attempt of the script "crash" has come to its end, in an empty workspace.
func wantReplaced(t *testing.T, run *v1alpha1.MotorRun, cause v1alpha1.AttemptCause) {
	t.Helper()
	done := wantCompleted(t, run, soon)
	if len(done.Status.Attempts) != 2 || done.Status.Attempts[1].Cause != cause || !strings.Contains(done.Status.Result.Summary, "survived") {
		t.Errorf("the run says %q after the attempts %+v", done.Status.Result.Summary, done.Status.Attempts)
	}
	if strings.Contains(done.Status.Result.Summary, run.Name+".a1.") {
		t.Errorf("the second attempt has the files of the first: %s", done.Status.Result.Summary)
	}
	wantEffects(t, run, "a1.t0", "a2.t0")
	wantWholeJournal(t, done)
}
