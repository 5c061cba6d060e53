// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func aRun(status v1alpha1.MotorRunStatus, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "build", Namespace: "agents", UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-58 * time.Second))}, Status: status}
	for _, c := range change {
		c(run)
	}
	return run
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	ended := metav1.NewTime(now)
	for name, tt := range map[string]struct {
		run   *v1alpha1.MotorRun
		steps []v1alpha1.MotorStep
		want  string
	}{
		"not seen yet": {aRun(v1alpha1.MotorRunStatus{}), nil, `agents/build  Created, 58s old
  No manager has looked at it yet: "kubectl -n motorcortex-system get pods" shows whether one runs.

Next: kubectl motor logs -f build -n agents
`},
		"blocked": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseCreated, Reason: "ModelSecretNotFound", Message: "The Secret\x1b[2J is missing.", Conditions: []metav1.Condition{
				condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, "ModelSecretNotFound", "The Secret\x1b[2J is missing."),
				condition(v1alpha1.ConditionSandboxReady, metav1.ConditionFalse, "ImagePullBackOff", "The image cannot be pulled."),
				condition(v1alpha1.ConditionEgressReady, metav1.ConditionTrue, "Ready", "It is ready."),
			},
		}), nil, `agents/build  Created (ModelSecretNotFound), 58s old
  The Secret\u001b[2J is missing.

Because:
  ImagePullBackOff: The image cannot be pulled.

Next: kubectl motor logs -f build -n agents
`},
		"an attempt failed": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseAwaitingInput, Reason: "AttemptFailed", Message: "Waiting.", Attempts: []v1alpha1.AttemptStatus{{
				Index: 1, LastCalls: []v1alpha1.CallHead{{Tool: "read", OK: true}, {Tool: "bash", ErrorCode: "exit_1", Head: "port 80:\npermission denied"}},
				Failure: &v1alpha1.FailureSummary{Category: v1alpha1.CategoryToolFailure, Reason: "Stuck", Message: "The same call three times.", Hint: "use a port above 1024", SuggestedAction: v1alpha1.ActionRetryWithGuidance},
			}},
			PendingInputs: []v1alpha1.PendingInput{{ID: "retry-1", Kind: v1alpha1.InputRetry, Question: "Attempt 1 failed.", ExpirationTime: metav1.NewTime(now.Add(29 * time.Minute))}},
		}), nil, `agents/build  AwaitingInput (AttemptFailed), 58s old
  Waiting.

Attempt 1 failed: Stuck (ToolFailure)
  The same call three times.
  a model guesses: use a port above 1024
  bash: exit_1 port 80: permission denied
  Suggested: try again, and say what to do differently.

Asks (retry), expires in 29m:
  | Attempt 1 failed.
Answer with:
  kubectl motor retry build -n agents --id retry-1 --uid u --guidance "…"
  kubectl motor stop build -n agents --id retry-1 --uid u
`},
		"failed": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseFailed, Reason: "Timeout", Message: "Its time was over.", CompletionTime: &ended, Conditions: []metav1.Condition{
				condition(v1alpha1.ConditionSandboxReady, metav1.ConditionFalse, "Deleted", "The sandbox was removed."), condition(v1alpha1.ConditionSucceeded, metav1.ConditionFalse, "Timeout", "Its time was over."),
				condition(v1alpha1.ConditionToolsOffered, metav1.ConditionFalse, "NoSearchProvider", "search_web is not offered."),
			},
		}), []v1alpha1.MotorStep{{
			ObjectMeta: metav1.ObjectMeta{Name: "s", CreationTimestamp: metav1.NewTime(now.Add(-50 * time.Second))},
			Spec:       v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: 4, ToolCalls: []v1alpha1.ToolCall{{ID: "c", Tool: "bash", Arguments: `{"command":"make"}`}}},
			Status:     v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{{CallID: "c", ErrorCode: "exit_2", DurationMilliseconds: 20}}},
		}}, `agents/build  Failed (Timeout), 58s old
  Its time was over.

Because:
  NoSearchProvider: search_web is not offered.

Last steps:
[ 0:08]   4  bash    make                                          exit_2  20ms

Next: kubectl motor steps build -n agents shows everything it did. A run that has ended stays so: create another one
`},
		"succeeded": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseCompleted, Reason: "Completed", CompletionTime: &ended, Conditions: []metav1.Condition{condition(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, "Completed", "")},
			Result: &v1alpha1.RunResult{OK: true, Artifacts: []v1alpha1.Artifact{{Path: "a"}}},
		}), nil, `agents/build  Completed, 58s old

Next: kubectl motor artifacts build -n agents
`},
		"suspended": {aRun(v1alpha1.MotorRunStatus{Phase: v1alpha1.PhaseRunning, Reason: "Suspended", Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionSuspended, metav1.ConditionTrue, "Suspended", "dana suspended it."),
		}}, func(run *v1alpha1.MotorRun) { run.Spec.Suspend, run.Namespace = true, "other" }), nil, `other/build  Running (Suspended), 58s old

Because:
  Suspended: dana suspended it.

Next: kubectl motor resume build -n other
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			explain(&b, tt.run, tt.steps, "", now)
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	for action, want := range map[v1alpha1.SuggestedAction]string{v1alpha1.ActionAskUser: "a person", v1alpha1.ActionStop: "stop", v1alpha1.ActionRetryWithGuidance: "try again", "": ""} {
		if got := suggestion(&v1alpha1.FailureSummary{SuggestedAction: action}); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", action, got)
		}
	}
}
