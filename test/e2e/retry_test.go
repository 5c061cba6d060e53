// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// retry starts the attempt after the one that failed, as the docs tell people to.
func retry(t *testing.T, run *v1alpha1.MotorRun, attempt int32, guidance string) {
	t.Helper()
	value, err := json.Marshal(v1alpha1.Response{ID: fmt.Sprintf("retry-%d", attempt), Decision: v1alpha1.DecisionRetry, Guidance: guidance})
	must(t, err)
	patch(t, run, types.JSONPatchType, fmt.Sprintf(`[{"op":"add","path":"/spec/responses/-","value":%s}]`, value))
}

// wantRetryQuestion waits until the run asks whether to try again after that attempt failed.
func wantRetryQuestion(t *testing.T, run *v1alpha1.MotorRun, attempt int32) *v1alpha1.MotorRun {
	t.Helper()
	asked := awaitRun(t, run, soon, "the question whether to try again", func(r *v1alpha1.MotorRun) bool {
		p := r.Status.Pending()
		return p != nil && p.Kind == v1alpha1.InputRetry && p.Attempt != nil && *p.Attempt == attempt+1
	})
	p := asked.Status.Pending()
	if p.ID != fmt.Sprintf("retry-%d", attempt) || p.Question == "" || p.ExpirationTime.IsZero() {
		t.Errorf("the run waits for %+v", p)
	}
	if c := condition(asked, v1alpha1.ConditionAwaitingInput); c.Status != metav1.ConditionTrue ||
		(c.Reason != v1alpha1.ReasonAttemptFailed && c.Reason != v1alpha1.ReasonBudgetExhausted) {
		t.Errorf("the condition is %+v", c)
	}
	if isTrue(asked, v1alpha1.ConditionFinished) || asked.Status.Phase != v1alpha1.PhaseAwaitingInput {
		t.Errorf("a run that can be tried again is %s", asked.Status.Phase)
	}
	last := asked.Status.Attempts[len(asked.Status.Attempts)-1]
	if last.Index != attempt || last.Failure == nil || last.CompletionTime == nil {
		t.Errorf("the attempt that failed is %+v", last)
	}
	return asked
}

// guidance is what a person tells the model for its second attempt; the script "fails" repeats it.
const guidance = "write the file before you read it"

func TestARetryWithGuidanceGoesOnInTheSameWorkspace(t *testing.T) {
	t.Parallel()
	run := startRun(t, "fails", withAttempts(3))
	asked := wantRetryQuestion(t, run, 1)
	f := attemptAt(t, asked, 1).Failure
	if f.Category != v1alpha1.CategoryToolFailure || f.SuggestedAction != v1alpha1.ActionRetryWithGuidance || f.LastStepName == "" {
		t.Errorf("the failure is %+v", f)
	}
	retry(t, run, 1, guidance)
	done := wantCompleted(t, run, soon)
	if len(done.Status.Attempts) != 2 {
		t.Fatalf("the run has the attempts %+v", done.Status.Attempts)
	}
	second := attemptAt(t, done, 2)
	if second.Cause != v1alpha1.CauseRetry || !strings.Contains(second.RecoveryContext, guidance) || !strings.Contains(second.RecoveryContext, f.Reason) {
		t.Errorf("the second attempt was told: %s", second.RecoveryContext)
	}
	if s := done.Status.Result.Summary; s != "It worked. I was told: "+guidance {
		t.Errorf("summary %q", s)
	}
	if done.Status.Sandbox.PodUID != asked.Status.Sandbox.PodUID {
		t.Error("the second attempt had another Pod")
	}
	wantCondition(t, done, v1alpha1.ConditionResponsesValid, metav1.ConditionTrue, "")
	journal := wantWholeJournal(t, done)
	if last := journal[len(journal)-1]; last.Spec.Attempt != 2 || !last.Spec.Final {
		t.Errorf("the last step is %s", last.Name)
	}
	podIsGone(t, run, soon)
}

func TestARetryThatNobodyAsksForEndsTheRun(t *testing.T) {
	t.Parallel()
	run := startRun(t, "fails", withAttempts(3), withLimits(v1alpha1.RunLimits{RetryDeadlineSeconds: 15}))
	asked := wantRetryQuestion(t, run, 1)
	ended := awaitEnd(t, run, soon)
	wantCondition(t, ended, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, failureAt(t, asked, 1).Reason)
	if late := ended.Status.CompletionTime.Sub(asked.Status.Pending().ExpirationTime.Time); late < 0 || late > 30*time.Second {
		t.Errorf("the run ended %s after the time for a retry was over", late)
	}
	if len(ended.Status.Attempts) != 1 || ended.Status.Pending() != nil {
		t.Errorf("it has %d attempts and waits for %+v", len(ended.Status.Attempts), ended.Status.Pending())
	}
	podIsGone(t, run, soon)
}

func TestAttemptsAreUsedUp(t *testing.T) {
	t.Parallel()
	run := startRun(t, "endless", withAttempts(2), withLimits(v1alpha1.RunLimits{MaxIterations: 2}))
	asked := wantRetryQuestion(t, run, 1)
	wantCondition(t, asked, v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, v1alpha1.ReasonBudgetExhausted)
	another := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/responses/-","value":{"id":"retry-5","decision":"Retry"}}]`))
	if err := suite.client.Patch(t.Context(), asked.DeepCopy(), another); err == nil || !strings.Contains(err.Error(), "asks nothing under the id retry-5") {
		t.Errorf("another attempt than the next: %v", err)
	}
	retry(t, run, 1, "")
	ended := wantEnd(t, run, soon, v1alpha1.PhaseFailed, "MaxIterations")
	if n := len(ended.Status.Attempts); n != 2 || ended.Status.Attempts[1].Failure == nil {
		t.Errorf("the run ended with %d attempts: %+v", n, ended.Status.Attempts)
	}
	if ended.Status.Result.Partial == "" {
		t.Error("nothing says what the model had to show")
	}
	wantWholeJournal(t, ended)
	podIsGone(t, run, soon)
}

// While a run waits for a retry its sandbox can be lost too. Then the retry has an empty workspace, and says so.
func TestARetryAfterItsSandboxIsGone(t *testing.T) {
	t.Parallel()
	run := startRun(t, "fails", withAttempts(2))
	asked := wantRetryQuestion(t, run, 1)
	deleteSandbox(t, run)
	podIsGone(t, run, soon)
	retry(t, run, 1, guidance)
	done := wantCompleted(t, run, soon)
	if done.Status.Sandbox.PodUID == asked.Status.Sandbox.PodUID || !strings.Contains(attemptAt(t, done, 2).RecoveryContext, "workspace") {
		t.Errorf("the second attempt in Pod %s was told %q", done.Status.Sandbox.PodUID, attemptAt(t, done, 2).RecoveryContext)
	}
	if s := done.Status.Result.Summary; !strings.HasPrefix(s, "It worked.") {
		t.Errorf("summary %q", s)
	}
}
