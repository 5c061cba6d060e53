// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestAQuestionThatNobodyAnswersEndsTheRun(t *testing.T) {
	t.Parallel()
	run := startRun(t, "ask", withLimits(v1alpha1.RunLimits{InputDeadlineSeconds: 15}))
	asked := awaitQuestion(t, run)
	ended := wantEnd(t, run, soon, v1alpha1.PhaseFailed, v1alpha1.ReasonUserResponseTimeout)
	if late := ended.Status.CompletionTime.Sub(asked.Status.Pending().ExpirationTime.Time); late < 0 || late > 30*time.Second {
		t.Errorf("the run ended %s after the time for the answer was over", late)
	}
	f := attemptAt(t, ended, 1).Failure
	if f == nil || f.Category != v1alpha1.CategoryBudgetExhausted || !strings.Contains(f.Message, "Which colour") || !strings.Contains(f.Message, "inputDeadlineSeconds") {
		t.Errorf("the failure does not say which question and which limit: %+v", f)
	}
	podIsGone(t, run, soon)
}

func TestARunThatTakesTooLongEndsAlsoInTheMiddleOfATool(t *testing.T) {
	t.Parallel()
	run := startRun(t, "sleep", withLimits(v1alpha1.RunLimits{ActiveDeadlineSeconds: 60}))
	ended := wantEnd(t, run, soon, v1alpha1.PhaseFailed, v1alpha1.ReasonTimeout)
	if took := ended.Status.CompletionTime.Sub(ended.CreationTimestamp.Time); took < time.Minute || took > 90*time.Second {
		t.Errorf("a run of at most 60 s took %s", took)
	}
	if ended.Status.Steps != 1 {
		t.Errorf("the run ended at step %d, before its tool ran", ended.Status.Steps)
	}
	podIsGone(t, run, soon)
}

func TestWaitingForAPersonTakesNoTimeOfTheRun(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	run := startRun(t, "ask-between", withLimits(v1alpha1.RunLimits{ActiveDeadlineSeconds: int32(limit.Seconds())}))
	asked := awaitQuestion(t, run)
	// The person is slower than the whole run may be.
	select {
	case <-time.After(time.Until(asked.CreationTimestamp.Add(limit + 2*time.Second))):
	case <-t.Context().Done():
	}
	respond(t, run, asked.Status.Pending().ID, "after")
	done := wantCompleted(t, run, soon)
	if done.Status.Result.Summary != "before\nafter" {
		t.Errorf("summary %q: the files of before the question must be there after it", done.Status.Result.Summary)
	}
	stats := done.Status.Result.Stats
	if stats.DurationMilliseconds < limit.Milliseconds() || stats.WaitingMilliseconds < stats.DurationMilliseconds-limit.Milliseconds() {
		t.Errorf("a pause was counted as work: %+v", stats)
	}
	wantWholeJournal(t, done)
}
