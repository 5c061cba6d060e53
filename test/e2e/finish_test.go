// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A run proves what it claims: a file that is not there is told to the model, and a part of the task is no success. What was done is kept.
func TestARunThatDidAPartIsNoSuccess(t *testing.T) {
	t.Parallel()
	run := startRun(t, "finish", withAttempts(2))
	asked := wantRetryQuestion(t, run, 1)
	f := attemptAt(t, asked, 1).Failure
	if f.Category != v1alpha1.CategoryIncomplete || f.Reason != v1alpha1.ReasonPartial || !f.Retryable {
		t.Errorf("the failure is %+v", f)
	}
	awaitRun(t, run, soon, "what it did", func(r *v1alpha1.MotorRun) bool {
		return len(r.Status.Artifacts) == 1 && r.Status.Artifacts[0].Path == "artifacts/one.txt"
	})
	retry(t, run, 1, "write the other one too")
	done := wantCompleted(t, run, soon)
	wantCondition(t, done, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	if r := done.Status.Result; r.Summary != "Both are there." || len(r.Artifacts) != 2 {
		t.Errorf("the result is %+v", r)
	}
	if done.Status.Steps != 4 {
		t.Errorf("the model gave %d answers", done.Status.Steps)
	}
	journal := wantWholeJournal(t, done)
	if last := journal[len(journal)-1]; !last.Spec.Final || last.Spec.Content != "Both are there." || last.Spec.Usage.TotalTokens != 0 {
		t.Errorf("the end is %+v", last.Spec)
	}
}
