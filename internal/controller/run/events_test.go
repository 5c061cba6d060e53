// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The Event of an attempt names the person who decided about the attempt before, and none where the operator decided.
func TestStartedNote(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{}
	run.Spec.Responses = []v1alpha1.Response{
		{ID: "retry-1", Decision: v1alpha1.DecisionRetry, RespondedBy: "anna"}, {ID: "retry-2", Decision: v1alpha1.DecisionRetry, RespondedBy: "bob"},
		{ID: "retry-3", Decision: v1alpha1.DecisionRetry},
	}
	for want, a := range map[string]v1alpha1.AttemptStatus{
		"Attempt 2 begins, as anna decided.":                                  {Index: 2, Cause: v1alpha1.CauseRetry},
		"Attempt 3 begins, as bob decided.":                                   {Index: 3, Cause: v1alpha1.CauseRetry},
		"Attempt 4 begins, as a person decided.":                              {Index: 4, Cause: v1alpha1.CauseRetry},
		"Attempt 2 begins in a new sandbox, because the former one was lost.": {Index: 2, Cause: v1alpha1.CauseInfrastructure},
		"Attempt 5 begins, as a person decided.":                              {Index: 5, Cause: v1alpha1.CauseRetry},
	} {
		if got := startedNote(run, &a); got != want || strings.Count(got, ".") != 1 {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An attempt that failed is an Event of its own while the run goes on, once.
func TestAttemptTransitions(t *testing.T) {
	t.Parallel()
	failure := &v1alpha1.FailureSummary{Reason: "Why", Message: "it broke"}
	first, failed, second := v1alpha1.AttemptStatus{Index: 1}, v1alpha1.AttemptStatus{Index: 1, Failure: failure}, v1alpha1.AttemptStatus{Index: 2, Cause: v1alpha1.CauseRetry}
	for name, tt := range map[string]struct {
		before, after []v1alpha1.AttemptStatus
		want          int
	}{
		"the first begins":        {nil, []v1alpha1.AttemptStatus{first}, 0},
		"it fails":                {[]v1alpha1.AttemptStatus{first}, []v1alpha1.AttemptStatus{failed}, 1},
		"it has failed":           {[]v1alpha1.AttemptStatus{failed}, []v1alpha1.AttemptStatus{failed}, 0},
		"the next begins":         {[]v1alpha1.AttemptStatus{failed}, []v1alpha1.AttemptStatus{failed, second}, 1},
		"it fails, and the next":  {[]v1alpha1.AttemptStatus{first}, []v1alpha1.AttemptStatus{failed, second}, 2},
		"nothing happens anymore": {[]v1alpha1.AttemptStatus{failed, second}, []v1alpha1.AttemptStatus{failed, second}, 0},
	} {
		before, after := &v1alpha1.MotorRun{}, &v1alpha1.MotorRun{}
		before.Status.Attempts, after.Status.Attempts = tt.before, tt.after
		if got := attemptTransitions(before, after); len(got) != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
