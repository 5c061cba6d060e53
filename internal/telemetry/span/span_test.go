// SPDX-License-Identifier: Apache-2.0

package span

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var begin = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(begin.Add(time.Duration(seconds) * time.Second))
}

const uid = "0f8fad5b-d9cb-469f-a165-70867728950e"

func step(name string, index int32, seconds int, change func(*v1alpha1.MotorStep)) v1alpha1.MotorStep {
	s := v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "agents", CreationTimestamp: at(seconds), Labels: map[string]string{v1alpha1.LabelRun: "portfolio"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "motorcortex.dev/v1alpha1", Kind: "MotorRun", Name: "portfolio", UID: uid}},
		},
		Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: index},
	}
	change(&s)
	return s
}

// lived is a run that still works at its second attempt.
func lived() (*v1alpha1.MotorRun, []v1alpha1.MotorStep) {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "portfolio", Namespace: "agents", UID: uid, CreationTimestamp: at(0)},
		Status: v1alpha1.MotorRunStatus{
			Reason: "Running", Model: "scripted/a", Usage: v1alpha1.Usage{TotalTokens: 150},
			Attempts: []v1alpha1.AttemptStatus{
				{Index: 1, StartTime: new(at(1)), CompletionTime: new(at(90)), Usage: v1alpha1.Usage{TotalTokens: 120}, Failure: &v1alpha1.FailureSummary{Reason: "Stuck"}},
				{Index: 2, StartTime: new(at(95)), Usage: v1alpha1.Usage{TotalTokens: 30}},
			},
		},
	}
	first := step("s1", 1, 33, func(s *v1alpha1.MotorStep) {
		s.Spec.Model, s.Spec.ModelMilliseconds, s.Spec.Usage = "a-2026", 2500, v1alpha1.Usage{PromptTokens: 100, CompletionTokens: 20, CachedTokens: 5, TotalTokens: 120}
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "c0", Tool: "read", Arguments: `{"path":"a\u001b[2J"}`}, {ID: "c1", Tool: "bash", Arguments: `{"command":"push"}`}}
		s.Status.Results = []v1alpha1.ToolResult{{CallID: "c0", OK: true, DurationMilliseconds: 3}, {CallID: "c1", ErrorCode: "exit_1", DurationMilliseconds: 500, WaitedMilliseconds: 10000}}
		s.Status.Asks = []v1alpha1.StepAsk{{ID: "q", CallID: "c1", Kind: v1alpha1.InputApproval, AskTime: at(33), CloseTime: at(43), Outcome: v1alpha1.AskApproved}}
	})
	outage := step("o2", 2, 60, func(s *v1alpha1.MotorStep) {
		s.Spec.Type, s.Spec.Outage = v1alpha1.StepOutage, &v1alpha1.ModelOutage{Reason: "ModelUnreachable"}
	})
	end := step("s2", 2, 90, func(s *v1alpha1.MotorStep) { s.Spec.Type = v1alpha1.StepEnd })
	works := step("s3", 1, 100, func(s *v1alpha1.MotorStep) {
		s.Spec.Attempt, s.Spec.ModelMilliseconds, s.Spec.Usage = 2, 4000, v1alpha1.Usage{TotalTokens: 30}
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "d0", Tool: "bash", Arguments: `{"command":"make"}`}, {ID: "d1", Tool: "bash", Arguments: `{"command":"later"}`}}
	})
	return run, []v1alpha1.MotorStep{first, outage, end, works}
}

// An id is the same whenever it is computed, and belongs to one span.
func TestSpans(t *testing.T) {
	t.Parallel()
	run, steps := lived()
	spans := Of(run, steps)
	if diff := cmp.Diff(spans, Of(run, steps)); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
	known := map[string]bool{"": true}
	for _, s := range spans {
		if s.TraceID != strings.ReplaceAll(uid, "-", "") || known[s.SpanID] || !known[s.ParentSpanID] {
			t.Errorf("ids of %+v", s)
		}
		known[s.SpanID] = true
	}
	run.UID = "short"
	if id := Of(run, nil)[0].TraceID; len(id) != 32 {
		t.Errorf("the trace id is %q", id)
	}
}

// Two runs of one caller are in its trace, each below the span that made it, and each has its own spans.
func TestRunsOfACallerAreInItsTrace(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	known := map[string]bool{}
	for _, id := range []types.UID{uid, "1f8fad5b-d9cb-469f-a165-70867728950e"} {
		run, steps := lived()
		run.UID, run.Annotations = id, map[string]string{v1alpha1.AnnotationTraceParent: "00-" + trace + "-" + parent + "-01"}
		for i, s := range Of(run, steps) {
			if s.TraceID != trace || known[s.SpanID] || (s.ParentSpanID == parent) != (i == 0) {
				t.Errorf("ids of %+v", s)
			}
			known[s.SpanID] = true
		}
	}
}

// What a manager that was killed left open ended with the attempt. What never began has no time.
func TestWhatHasNoResultEndsWithTheAttempt(t *testing.T) {
	t.Parallel()
	run, steps := lived()
	run.Status.Attempts[1].CompletionTime = new(at(130))
	if Settled(&steps[3]) || !Settled(&steps[0]) || !Settled(&steps[2]) {
		t.Error("a step with calls without results counts as settled, or another one does not")
	}
	took := map[string]int64{}
	for _, s := range Of(run, steps) {
		if s.Attempt == 2 && s.Ended() {
			took[string(s.Kind)+s.CallID] = *s.DurationMilliseconds
		}
	}
	if diff := cmp.Diff(map[string]int64{"Attempt": 35000, "Step": 34000, "Model": 4000, "Toold0": 30000}, took); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
