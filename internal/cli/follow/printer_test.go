// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/follow"
)

var start = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) metav1.Time { return metav1.NewTime(start.Add(d)) }

func aRun(inputs ...v1alpha1.PendingInput) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "portfolio", Namespace: "agents", UID: "uid", CreationTimestamp: after(0)},
		Status:     v1alpha1.MotorRunStatus{PendingInputs: inputs},
	}
}

func turn(attempt, index int32, at time.Duration, content string, calls ...v1alpha1.ToolCall) v1alpha1.MotorStep {
	s := v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: index, Content: content, ToolCalls: calls}}
	s.Name, s.CreationTimestamp = strings.Repeat("a", int(attempt))+strings.Repeat("s", int(index)), after(at)
	return s
}

// Each thing is printed when it is there, and once.
func TestPrinter(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := follow.NewPrinter(&b, aRun())
	want := func(what, lines string) {
		t.Helper()
		if diff := cmp.Diff(lines, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		b.Reset()
	}
	first := turn(1, 1, 33*time.Second, "I\x1b[2J will\nread it.", v1alpha1.ToolCall{ID: "c0", Tool: "read", Arguments: `{"path":"portfolio.csv"}`},
		v1alpha1.ToolCall{ID: "c1", Tool: "ask_user", Arguments: `{"question":"Which?"}`})
	p.Steps([]v1alpha1.MotorStep{first})
	want("a step in flight", "[ 0:33]   1  says    I\\u001b[2J will read it.\n")
	first.Status.Results = []v1alpha1.ToolResult{{CallID: "c0", OK: true, DurationMilliseconds: 3}}
	p.Steps([]v1alpha1.MotorStep{first})
	want("its first result", "[ 0:33]   1  read    portfolio.csv                                 ok  3ms\n")
	ask := v1alpha1.PendingInput{
		ID: "q", Kind: v1alpha1.InputQuestion, Question: "ACME has\nno price?", Options: []string{"skip\x1b[8m it", "stop"}, AskTime: after(34 * time.Second), ExpirationTime: after(30*time.Minute + 34*time.Second),
	}
	for range 2 {
		if p.Run(aRun(ask)) {
			t.Error("it ended")
		}
	}
	want("a question", `[ 0:34]   ?  ACME has no price?, expires in 30m
              1  skip\u001b[8m it
              2  stop
              kubectl motor answer portfolio -n agents --id q "…"
              kubectl motor answer portfolio -n agents --id q --option 1…2
`)
	first.Status.Results = append(first.Status.Results, v1alpha1.ToolResult{CallID: "c1", OK: true, DurationMilliseconds: 6000})
	first.Status.Asks = []v1alpha1.StepAsk{{ID: "q", CallID: "c1", Kind: v1alpha1.InputQuestion, Outcome: v1alpha1.AskAnswered, By: "dana", CloseTime: after(40 * time.Second)}}
	second := turn(1, 2, 3700*time.Second, "", v1alpha1.ToolCall{ID: "c2", Tool: "code", Arguments: `{"language":"javascript","source":"a\nb"}`})
	second.Status.Results = []v1alpha1.ToolResult{{CallID: "c2", ErrorCode: "exit_1", DurationMilliseconds: 212}}
	steps := []v1alpha1.MotorStep{first, second}
	p.Steps(steps)
	p.Steps(steps)
	want("the answer and a failure", `[ 0:40]   !  question: Answered by dana
[ 0:40]   1  ask_user Which?                                        ok  6s
[1:01:40]   2  code    javascript, 2 lines                           exit_1  212ms
`)
	outage := turn(2, 1, 3800*time.Second, "")
	outage.Name, outage.Spec.Type, outage.Spec.Outage = "outage", v1alpha1.StepOutage, &v1alpha1.ModelOutage{Reason: "ModelUnreachable", Message: "no route"}
	summary := turn(2, 3, 3800*time.Second, "short")
	summary.Spec.Type, summary.Spec.Through = v1alpha1.StepSummary, 2
	end := turn(2, 4, 3800*time.Second, "")
	end.Spec.Type, end.Spec.Outcome = v1alpha1.StepEnd, &v1alpha1.StepOutcome{Reason: "Stuck", Message: "the same call"}
	final := turn(2, 5, 3800*time.Second, "the result")
	final.Spec.Final = true
	p.Steps([]v1alpha1.MotorStep{outage, summary, end, final})
	want("other steps", `[1:03:20] 2.1  the model cannot be had: ModelUnreachable: no route
[1:03:20] 2.3  summary of the steps up to 2
[1:03:20] 2.4  attempt 2 failed: Stuck: the same call
`)
	ended := aRun()
	ended.Status.CompletionTime, ended.Status.Reason = new(after(3900*time.Second)), "Completed"
	ended.Status.Result = &v1alpha1.RunResult{OK: true, Summary: "3 positions:\nACME\x07\n"}
	if !p.Run(ended) {
		t.Error("it did not end")
	}
	p.End()
	p.End()
	want("the end", "[1:05:00]      Completed: 3 positions:\n              ACME\\u0007\n")
}

// A run that waits for a ConfigMap says so, once, and not with each read of it.
func TestPrinterOfARunThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	blocked := func(reason, message string) *v1alpha1.MotorRun {
		run := aRun()
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: after(time.Second)}}
		return run
	}
	accepted := aRun()
	accepted.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted, Message: "It is."}}
	ended := blocked(v1alpha1.ReasonSkillNotFound, "There is no skill.")
	ended.Status.CompletionTime = new(after(2 * time.Second))
	var b strings.Builder
	p := follow.NewPrinter(&b, aRun())
	for _, run := range []*v1alpha1.MotorRun{
		aRun(), blocked(v1alpha1.ReasonQueued, "It is the third."), blocked(v1alpha1.ReasonQueued, "It is the second."),
		blocked(v1alpha1.ReasonInputFileNotFound, "The ConfigMap a\x1b[2J is missing."), blocked(v1alpha1.ReasonInputFileNotFound, "The ConfigMap a\x1b[2J is missing."),
		blocked(v1alpha1.ReasonInputFileNotFound, "The ConfigMap b is missing."), accepted, ended,
	} {
		p.Run(run)
	}
	const want = `[ 0:01]      not accepted yet: Queued: It is the third.
[ 0:01]      not accepted yet: InputFileNotFound: The ConfigMap a\u001b[2J is missing.
[ 0:01]      not accepted yet: InputFileNotFound: The ConfigMap b is missing.
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What was answered before a person looks is no question any more.
func TestPrinterOfAnAnsweredAsk(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	follow.NewPrinter(&b, aRun()).Run(aRun(v1alpha1.PendingInput{ID: "q", Answered: true, Question: "Which?"}))
	if b.Len() > 0 {
		t.Errorf("printed %q", &b)
	}
}
