// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
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

const retryQuestion = "Attempt 1 failed (Stuck): It went on and on.\nTo try again, decide Retry before 12:29:\nkubectl -n agents patch motorrun build"

func stuckAttempt(index int32) v1alpha1.AttemptStatus {
	return v1alpha1.AttemptStatus{
		Index: index, LastCalls: []v1alpha1.CallHead{{ID: "c", Tool: "bash", ErrorCode: "approval_denied", Head: "The person said no."}},
		Failure: &v1alpha1.FailureSummary{Category: v1alpha1.CategoryIncomplete, Reason: "Stuck", Message: "It went on and on.", SuggestedAction: v1alpha1.ActionRetryWithGuidance},
	}
}

// deniedStep is a step with a call that dana denied.
func deniedStep(attempt int32, reason string) v1alpha1.MotorStep {
	at := metav1.NewTime(now.Add(-50 * time.Second))
	return v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%d", attempt), CreationTimestamp: at},
		Spec:       v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: 1, ToolCalls: []v1alpha1.ToolCall{{ID: "c", Tool: "bash", Arguments: `{"command":"bash publish.sh news.txt"}`}}},
		Status: v1alpha1.MotorStepStatus{
			Results: []v1alpha1.ToolResult{{CallID: "c", ErrorCode: "approval_denied"}},
			Asks:    []v1alpha1.StepAsk{{ID: "a", Kind: v1alpha1.InputApproval, CallID: "c", Outcome: v1alpha1.AskDenied, Decision: v1alpha1.DecisionDeny, By: "dana", Reason: reason, CloseTime: at}},
		},
	}
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

Next:
  kubectl motor logs -f build -n agents
`},
		"blocked": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseCreated, Reason: "ModelSecretNotFound", Message: "The Secret\x1b[2J is missing.", Conditions: []metav1.Condition{
				condition(v1alpha1.ConditionAccepted, metav1.ConditionFalse, "ModelSecretNotFound", "The Secret\x1b[2J is missing."),
				condition(v1alpha1.ConditionSandboxReady, metav1.ConditionFalse, "ImagePullBackOff", "The image cannot be pulled."),
				condition(v1alpha1.ConditionEgressReady, metav1.ConditionTrue, "Ready", "It is ready."),
			},
		}), nil, `agents/build  Created (ModelSecretNotFound), 58s old
  The Secret\u001b[2J is missing.

Next:
  kubectl motor logs -f build -n agents

Because:
  ImagePullBackOff: The image cannot be pulled.
`},
		"an attempt failed": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseAwaitingInput, Reason: "AttemptFailed", Message: "Waiting.", Attempts: []v1alpha1.AttemptStatus{{
				Index: 1, LastCalls: []v1alpha1.CallHead{{Tool: "read", OK: true}, {Tool: "bash", ErrorCode: "exit_1", Head: "port 80:\npermission denied"}},
				Failure: &v1alpha1.FailureSummary{Category: v1alpha1.CategoryToolFailure, Reason: "Stuck", Message: "The same call three times.", Hint: "use a port above 1024", SuggestedAction: v1alpha1.ActionRetryWithGuidance},
			}},
			PendingInputs: []v1alpha1.PendingInput{{ID: "retry-1", Kind: v1alpha1.InputRetry, Question: "Attempt 1 failed.", ExpirationTime: metav1.NewTime(now.Add(29 * time.Minute))}},
		}), nil, `agents/build  AwaitingInput (AttemptFailed), 58s old
  Waiting.

Asks (retry), expires in 29m:
  | Attempt 1 failed.
Answer with:
  kubectl motor retry build -n agents --id retry-1 --uid u --guidance "…"
  kubectl motor stop build -n agents --id retry-1 --uid u

Attempt 1 failed: Stuck (ToolFailure)
  The same call three times.
  a model guesses: use a port above 1024
  bash: exit_1 port 80: permission denied
  Suggested: try again, and say what to do differently.
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

It has ended and cannot be tried again. What it did:
  kubectl motor steps build -n agents
Create it again from its manifest, under another name.

Because:
  NoSearchProvider: search_web is not offered.

Last steps:
[ 0:08]   4  bash    make                                          exit_2  20ms
`},
		"a call was denied": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseFailed, Reason: "Failed", Message: "It is not published.", CompletionTime: &ended, Attempts: []v1alpha1.AttemptStatus{
				stuckAttempt(1), stuckAttempt(2), stuckAttempt(3),
			},
		}, func(run *v1alpha1.MotorRun) {
			run.Spec.Task, run.Spec.Tools, run.Spec.SkillRef, run.Spec.Model = "Publish it.", []v1alpha1.ToolName{"read", "bash"}, &v1alpha1.SkillRef{Name: "news"}, &v1alpha1.RunModel{Name: "it's"}
		}), []v1alpha1.MotorStep{deniedStep(2, "Not yet."), deniedStep(3, "Not on a Friday, and not before "+strings.Repeat("everybody has read it, ", 9)+"please.\x1b[2J"), {
			Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepEnd, Attempt: 3, Index: 2, Outcome: &v1alpha1.StepOutcome{Reason: "Stuck", Message: "It went on and on."}},
		}}, `agents/build  Failed, 58s old
  It is not published.

Denied by dana: bash: bash publish.sh news.txt
  | Not on a Friday, and not before everybody has read it, everybody has read it, everybody has read ` + `
  | it, everybody has read it, everybody has read it, everybody has read it, everybody has read it, ` + `
  | everybody has read it, everybody has read it, please.\u001b[2J

It has ended and cannot be tried again. What it did:
  kubectl motor steps build -n agents
Another run with its task, tools, model and skill, and with nothing else of its spec:
  kubectl motor run -n agents --tools read,bash --model 'it'\''s' --skill news -- "$(kubectl get motorrun build -n agents -o jsonpath='{.spec.task}')"

Attempts 1 to 3 failed, 3 times in the same way: Stuck (Incomplete)
  It went on and on.
  Suggested: create it again, and say in its task what to do differently.

Last steps:
[ 0:08]   !  approval: Deny by dana
[ 0:08] 2.1  bash    bash publish.sh news.txt                      approval_denied  0s
[ 0:08]   !  approval: Deny by dana
[ 0:08] 3.1  bash    bash publish.sh news.txt                      approval_denied  0s
`},
		"the message is the question": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseAwaitingInput, Reason: "AttemptFailed", Message: retryQuestion + " To answer: kubectl motor retry build -n agents --id retry-1", Attempts: []v1alpha1.AttemptStatus{stuckAttempt(1)},
			PendingInputs: []v1alpha1.PendingInput{{ID: "retry-1", Kind: v1alpha1.InputRetry, Question: retryQuestion}},
		}), nil, `agents/build  AwaitingInput (AttemptFailed), 58s old

Asks (retry):
  | Attempt 1 failed (Stuck): It went on and on.
Answer with:
  kubectl motor retry build -n agents --id retry-1 --uid u --guidance "…"
  kubectl motor stop build -n agents --id retry-1 --uid u

Attempt 1 failed: Stuck (Incomplete)
  bash: approval_denied The person said no.
  Suggested: try again, and say what to do differently.
`},
		"succeeded": {aRun(v1alpha1.MotorRunStatus{
			Phase: v1alpha1.PhaseCompleted, Reason: "Completed", CompletionTime: &ended, Conditions: []metav1.Condition{condition(v1alpha1.ConditionSucceeded, metav1.ConditionTrue, "Completed", "")},
			Result: &v1alpha1.RunResult{OK: true, Artifacts: []v1alpha1.Artifact{{Path: "a"}}},
		}), nil, `agents/build  Completed, 58s old

Next:
  kubectl motor artifacts build -n agents
`},
		"suspended": {aRun(v1alpha1.MotorRunStatus{Phase: v1alpha1.PhaseRunning, Reason: "Suspended", Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionSuspended, metav1.ConditionTrue, "Suspended", "dana suspended it."),
		}}, func(run *v1alpha1.MotorRun) { run.Spec.Suspend, run.Namespace = true, "other" }), nil, `other/build  Running (Suspended), 58s old

Next:
  kubectl motor resume build -n other

Because:
  Suspended: dana suspended it.
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

// What a run that has ended cannot do any more is not recommended.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	ended := metav1.NewTime(now)
	asking := aRun(v1alpha1.MotorRunStatus{PendingInputs: []v1alpha1.PendingInput{{ID: "retry-1", Kind: v1alpha1.InputRetry}}})
	works, over := aRun(v1alpha1.MotorRunStatus{}), aRun(v1alpha1.MotorRunStatus{CompletionTime: &ended})
	for _, tt := range []struct {
		action v1alpha1.SuggestedAction
		run    *v1alpha1.MotorRun
		want   string
	}{
		{v1alpha1.ActionRetryWithGuidance, asking, "try again"}, {v1alpha1.ActionRetryWithGuidance, works, ""}, {v1alpha1.ActionRetryWithGuidance, over, "create it again"},
		{v1alpha1.ActionStop, asking, "stop"}, {v1alpha1.ActionStop, over, "change something first"}, {v1alpha1.ActionAskUser, over, "a person"}, {"", over, ""},
	} {
		if got := suggestion(tt.run, &v1alpha1.FailureSummary{SuggestedAction: tt.action}); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q in it", tt.action, got, tt.want)
		}
	}
}
