// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// The result of every run with skills contains their outcome, however the run ended.
func TestResultHasTheSkills(t *testing.T) {
	t.Parallel()
	skills := &v1alpha1.SkillsResult{
		Created:  []v1alpha1.ProposedSkill{{Name: "mail", RevisionName: "mail-0123456789ab", ChangedFiles: 2}},
		Rejected: []v1alpha1.RejectedSkill{{Path: "skills/x", Message: "it cannot be read"}},
	}
	for _, phase := range []v1alpha1.RunPhase{v1alpha1.PhaseCompleted, v1alpha1.PhaseFailed} {
		s := &pass.Run{Pass: pass.Pass{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, Run: &v1alpha1.MotorRun{}, Progress: runpolicy.Progress{Skills: skills}}
		if diff := cmp.Diff(skills, result(s, &runpolicy.End{Phase: phase}).Skills); diff != "" {
			t.Errorf("%s (-want +got):\n%s", phase, diff)
		}
		s.Progress.Skills = nil
		if r := result(s, &runpolicy.End{Phase: phase}); r.Skills != nil {
			t.Errorf("%s: of nothing it shows %+v", phase, r.Skills)
		}
	}
}

// Nothing is asked any more when the run ends, or when another attempt begins.
func TestNothingIsAskedAfterTheEnd(t *testing.T) {
	t.Parallel()
	open := &v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion}
	asking := func() *pass.Run {
		s := pass.NewRun(&v1alpha1.MotorRun{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		s.Run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1, Cause: v1alpha1.CauseFirst}}
		s.Run.Status.PendingInputs, s.Progress.Pending = v1alpha1.PendingList(open), open
		return s
	}
	failure := &v1alpha1.FailureSummary{Category: v1alpha1.CategoryToolFailure, Reason: "Why"}
	s := asking()
	end(s, &runpolicy.End{Phase: v1alpha1.PhaseFailed, Reason: "Why", Failure: failure})
	if st := s.Run.Status; st.PendingInputs != nil || st.LatestAttempt().Failure != failure {
		t.Errorf("after the end: %+v", st)
	}
	s = asking()
	begin(s, runpolicy.Decision{Failure: failure, Next: &runpolicy.Next{Index: 2, Cause: v1alpha1.CauseRetry}})
	if st := s.Run.Status; st.PendingInputs != nil || s.Progress.Pending != nil || len(st.Attempts) != 2 || st.Attempts[0].Failure != failure {
		t.Errorf("in the next attempt: %+v, %+v", st, s.Progress.Pending)
	}
}

// status.pendingInputs has the open ask of the attempt, and when that has failed, the decision about another attempt.
func TestPendingInputs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	failed := v1alpha1.AttemptStatus{Index: 1, Cause: v1alpha1.CauseFirst, CompletionTime: new(metav1.NewTime(now)), Failure: &v1alpha1.FailureSummary{
		Category: v1alpha1.CategoryToolFailure, Reason: "Why", Retryable: true,
	}}
	question := &v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, ExpirationTime: metav1.NewTime(now.Add(time.Hour))}
	for name, tt := range map[string]struct {
		attempt v1alpha1.AttemptStatus
		pending *v1alpha1.PendingInput
		want    string
	}{
		"nothing":                   {v1alpha1.AttemptStatus{Index: 1}, nil, ""},
		"a question":                {v1alpha1.AttemptStatus{Index: 1}, question, "q"},
		"a failed attempt":          {failed, nil, "retry-1"},
		"one that failed and asked": {failed, question, "retry-1"},
	} {
		run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{Attempts: []v1alpha1.AttemptStatus{tt.attempt}}}
		run.CreationTimestamp = metav1.NewTime(now)
		run.Spec.MaxAttempts, run.Spec.Limits = 3, v1alpha1.RunLimits{ActiveDeadlineSeconds: 600, InputDeadlineSeconds: 3600, RetryDeadlineSeconds: 600}
		s := pass.NewRun(run, now)
		s.Progress = runpolicy.Progress{Attempt: 1, Pending: tt.pending}
		r := &Reconciler{}
		s.Decision = runpolicy.Decide(r.observation(s), s.Now)
		if _, err := r.conclude(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		got := ""
		if p := run.Status.Pending(); p != nil {
			got = p.ID
		}
		if got != tt.want || len(run.Status.PendingInputs) > 1 || !s.Concluded {
			t.Errorf("%s: %+v", name, run.Status.PendingInputs)
		}
	}
}

// The worker that recorded the last answer closes its step without being told. Whoever must be told, or may not be there, is told at once or a moment later.
func TestTheEndInTheJournalIsToldWhenItIsNotClosedSoon(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	answer := "Done."
	for name, tt := range map[string]struct {
		pause  time.Duration
		later  time.Duration
		change func(*pass.Run)
		told   bool
	}{
		"soon":                    {pause: time.Second, later: time.Second / 2},
		"not soon":                {pause: time.Second, later: time.Second, told: true},
		"everything is told":      {told: true},
		"beside an open question": {pause: time.Second, change: func(s *pass.Run) { s.Run.Status.PendingInputs = []v1alpha1.PendingInput{{ID: "q"}} }, told: true},
		"of a suspended run":      {pause: time.Second, change: func(s *pass.Run) { s.Run.Spec.Suspend = true }, told: true},
		"that no step has":        {pause: time.Second, change: func(s *pass.Run) { s.Progress.Final = nil }, told: true},
		"that was told already": {pause: time.Second, change: func(s *pass.Run) {
			s.Run.Status.Ending = &v1alpha1.RunEnding{Reason: "Completed", DecisionTime: metav1.NewTime(now)}
		}, told: true},
		"in a sandbox that is open": {pause: time.Second, change: func(s *pass.Run) {
			s.Set(v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonIsolationLost, "")
		}, told: true},
	} {
		own := now
		r := &Reconciler{Config: Config{ShowPause: tt.pause}, Now: func() time.Time { return own }}
		look := func() *pass.Run {
			s := pass.NewRun(&v1alpha1.MotorRun{}, now)
			s.Run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}}
			s.Progress = runpolicy.Progress{Final: &answer, LastStep: "step"}
			if tt.change != nil {
				tt.change(s)
			}
			s.Before = s.Run.DeepCopy()
			r.end(s, &runpolicy.End{Phase: v1alpha1.PhaseCompleted, Reason: v1alpha1.ReasonCompleted})
			return s
		}
		look()
		own = own.Add(tt.later)
		s := look()
		if told := s.Run.Status.Ending != nil; told != tt.told || pass.IsFinished(s.Run) || s.Result().RequeueAfter == 0 {
			t.Errorf("%s: told %t, finished %t, comes back after %s", name, told, pass.IsFinished(s.Run), s.Result().RequeueAfter)
		}
		s.Run.Status.Message = s.Message
		if waits := r.writesIn(s) > 0; waits == tt.told {
			t.Errorf("%s: the status waits %t", name, waits)
		}
	}
}
