// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
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

func TestTree(t *testing.T) {
	t.Parallel()
	run, steps := lived()
	var b strings.Builder
	tree(&b, run, spansOf(run, steps), at(110).Time)
	want := `SPAN                           START   DURATION   TOKENS   RESULT
portfolio                      0:00    1m50s …    150      Running
  attempt 1                    0:01    1m29s      120      Stuck
    step 1                     0:30    13.003s
      a-2026                   0:30    2.5s       120      ok
      read a\u001b[2J          0:33    3ms                 ok
      bash push                0:33    10.5s               exit_1
        approval               0:33    10s                 Approved
    the model cannot be had    1:00    30s                 ModelUnreachable
    step 2, end of the attempt 1:30    0s
  attempt 2                    1:35    15s …      30
    step 1                     1:36    14s …
      scripted/a               1:36    4s         30       ok
      bash make                1:40    10s …
      bash later
`
	if diff := cmp.Diff(strings.Join(strings.Fields(want), " "), strings.Join(strings.Fields(b.String()), " ")); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, &b)
	}
	for _, row := range []string{"\n    step 1  ", "\n        approval  "} {
		if !strings.Contains(b.String(), row) {
			t.Errorf("there is no row %q in\n%s", row, &b)
		}
	}
}

func TestTheVerb(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	run, steps := lived()
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(run)
	for i := range steps {
		builder.WithObjects(&steps[i])
	}
	c := builder.Build()
	for args, want := range map[string]struct {
		code  int
		lines int
		says  string
	}{
		"portfolio":             {verb.ExitOK, 15, "      bash later"},
		"portfolio -o jsonl":    {verb.ExitOK, 14, `"kind":"Outage"`},
		"portfolio -o otlp":     {verb.ExitOK, 1, `{"resourceSpans":[`},
		"portfolio -o json":     {verb.ExitMisused, 0, ""},
		"motorrun/portfolio":    {verb.ExitOK, 15, "SPAN"},
		"there-is-none-of-this": {verb.ExitFailed, 0, ""},
	} {
		var out, errs strings.Builder
		s := verb.Streams{Out: &out, Err: &errs}
		p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(s, func() (client.WithWatch, string, error) { return c, "agents", nil }))
		code := verb.Run(t.Context(), p, append([]string{"trace"}, strings.Fields(args)...))
		if code != want.code || strings.Count(out.String(), "\n") != want.lines || !strings.Contains(out.String(), want.says) {
			t.Errorf("%s: exit code %d, %s%s", args, code, &out, &errs)
		}
		if strings.HasSuffix(args, "jsonl") {
			for line := range strings.Lines(out.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
		}
	}
}
