// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
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

// An end is counted once: when it was written, and not in the passes after it.
func TestAnEndIsObservedOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		wasFinished, isFinished bool
		succeeded               metav1.ConditionStatus
		reason, want            string
	}{
		"it goes on":   {false, false, metav1.ConditionUnknown, v1alpha1.ReasonRunning, ""},
		"it succeeds":  {false, true, metav1.ConditionTrue, v1alpha1.ReasonCompleted, "ended Completed true 1m0s"},
		"it fails":     {false, true, metav1.ConditionFalse, v1alpha1.ReasonTimeout, "ended Timeout false 1m0s"},
		"it has ended": {true, true, metav1.ConditionTrue, v1alpha1.ReasonCompleted, ""},
	} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))}}
		finish := func(finished bool) {
			status := metav1.ConditionFalse
			if finished {
				status = metav1.ConditionTrue
			}
			apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFinished, Status: status, Reason: tt.reason})
		}
		finish(tt.wasFinished)
		s := pass.NewRun(run, now)
		finish(tt.isFinished)
		apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: tt.succeeded, Reason: tt.reason})
		var told observer
		(&Reconciler{Observer: &told}).observeEnd(s)
		(&Reconciler{}).observeEnd(s)
		if string(told) != tt.want {
			t.Errorf("%s: told %q, want %q", name, told, tt.want)
		}
	}
}

// A first state in which nothing is wrong costs an Event of each run, and tells nobody anything. What was wrong before does.
func TestWhatIsAsItShouldBeIsNoEvent(t *testing.T) {
	t.Parallel()
	const none = ""
	for name, tt := range map[string]struct {
		of            string
		before, after string
		told          bool
	}{
		"accepted at once":             {v1alpha1.ConditionAccepted, none, "True Accepted", false},
		"accepted after the queue":     {v1alpha1.ConditionAccepted, "False Queued", "True Accepted", true},
		"queued":                       {v1alpha1.ConditionAccepted, none, "False Queued", true},
		"a Pod that starts":            {v1alpha1.ConditionSandboxReady, none, "False SandboxStarting", false},
		"a Pod that runs":              {v1alpha1.ConditionSandboxReady, "False SandboxStarting", "True SandboxReady", true},
		"a Pod of a pool":              {v1alpha1.ConditionSandboxReady, none, "True SandboxReady", true},
		"a Pod without room":           {v1alpha1.ConditionSandboxReady, "False SandboxStarting", "False Unschedulable", true},
		"a user namespace":             {v1alpha1.ConditionUserNamespace, none, "True InUse", false},
		"no user namespace":            {v1alpha1.ConditionUserNamespace, none, "False NodesWithoutSupport", true},
		"closed":                       {v1alpha1.ConditionIsolationVerified, "Unknown NotTriedYet", "True AllBlocked", false},
		"open":                         {v1alpha1.ConditionIsolationVerified, "Unknown NotTriedYet", "False Reachable", true},
		"closed again":                 {v1alpha1.ConditionIsolationVerified, "False IsolationLost", "True AllBlocked", true},
		"tools that are offered":       {v1alpha1.ConditionToolsOffered, none, "True ToolsOffered", false},
		"tools that are not":           {v1alpha1.ConditionToolsOffered, none, "False SearchNotConfigured", true},
		"a credential that is exposed": {v1alpha1.ConditionCredentialsExposed, none, "True ExposedToSandbox", true},
		"the end":                      {v1alpha1.ConditionFinished, "False Running", "True Completed", true},
	} {
		before, after := &v1alpha1.MotorRun{}, &v1alpha1.MotorRun{}
		for run, state := range map[*v1alpha1.MotorRun]string{before: tt.before, after: tt.after} {
			if status, reason, ok := strings.Cut(state, " "); ok {
				apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: tt.of, Status: metav1.ConditionStatus(status), Reason: reason})
			}
		}
		if got := transitions(before, after); (len(got) == 1) != tt.told || len(got) > 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
