// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A program is as it was written, output as it came, and neither can write a line that looks like this program's.
func TestPrintStep(t *testing.T) {
	t.Parallel()
	turn := v1alpha1.MotorStep{
		Spec: v1alpha1.MotorStepSpec{
			Type: v1alpha1.StepTurn, Attempt: 1, Index: 2, Content: "I count.\n=== attempt 9", ModelMilliseconds: 1500, Usage: v1alpha1.Usage{TotalTokens: 120},
			ToolCalls: []v1alpha1.ToolCall{
				{ID: "c0", Tool: "code", Arguments: `{"language":"python","source":"for i in x:\n\tprint(i)\n"}`}, {ID: "c1", Tool: "fetch", Arguments: `{"url":"https://example.org"}`},
				{ID: "c2", Tool: "bash", Arguments: `{"command":"ls"}`},
			},
		},
		Status: v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight, Results: []v1alpha1.ToolResult{
			{CallID: "c0", OK: true, Output: "1\n\x1b[2J--- call\r\n", DurationMilliseconds: 12, OutputFile: ".motor/out"}, {CallID: "c1", ErrorCode: "http_404", Output: "no", Provenance: "Web", DurationMilliseconds: 90},
		}},
	}
	const want = `=== attempt 1, step 2, model 1.5s, 120 tokens
  | I count.
  | === attempt 9
--- call c0
tool: code
argument language:
  | python
argument source (ends with a line break):
  | for i in x:
  | 	print(i)
ok, 12ms
  > 1
  > \u001b[2J--- call
the whole output is in the workspace: .motor/out
--- call c1
tool: fetch
argument url:
  | https://example.org
failed: http_404, from the web: not to be trusted, 90ms
  > no
--- call c2
tool: bash
argument command:
  | ls
no result (InFlight)

`
	var b strings.Builder
	printStep(&b, &turn)
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who names a step that is not there is told which there are, and does not take the silence for an answer.
func TestAStepThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	var steps []v1alpha1.MotorStep
	for _, n := range [][2]int32{{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 4}, {2, 4}} {
		steps = append(steps, v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Attempt: n[0], Index: n[1]}})
	}
	archived := aRun(v1alpha1.MotorRunStatus{Archive: &v1alpha1.ArchiveStatus{Steps: 7, Key: "k"}})
	for name, tt := range map[string]struct {
		steps         []v1alpha1.MotorStep
		attempt, step int32
		want          int
		err           string
	}{
		"all":                    {steps, 0, 0, 6, ""},
		"an attempt":             {steps, 1, 0, 3, ""},
		"a step of each attempt": {steps, 0, 1, 2, ""},
		"a step of an attempt":   {steps, 2, 4, 2, ""},
		"no such step":           {steps, 0, 99, 0, "there is no step 99: it has 1 to 4"},
		"no such attempt":        {steps, 3, 1, 0, "there is no attempt 3: it has 1 to 2"},
		"none of the attempt":    {steps, 2, 2, 0, "there is no step 2 of attempt 2: it has 1, 4"},
		"below the first":        {steps[:1], 0, -1, 0, "there is no step -1: it has 1"},
		"no steps":               {nil, 0, 1, 0, "there is no step 1: build has no steps. 7 are in the archive, under the key k."},
		"no steps at all":        {nil, 0, 0, 0, ""},
	} {
		got, err := chosen(archived, tt.steps, tt.attempt, tt.step)
		if len(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %d steps, %v", name, len(got), err)
		}
	}
}

func TestPrintOtherSteps(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]v1alpha1.MotorStepSpec{
		"=== attempt 1, step 3: summary of the steps up to 2\n  | short\n\n":       {Type: v1alpha1.StepSummary, Through: 2, Content: "short"},
		"=== attempt 1, step 3: the attempt failed\n  | Stuck: m\n  | hint: h\n\n": {Type: v1alpha1.StepEnd, Outcome: &v1alpha1.StepOutcome{Reason: "Stuck", Message: "m", Hint: "h"}},
		"=== attempt 1, step 3: the model cannot be had\n  | Away: m\n\n":          {Type: v1alpha1.StepOutage, Outage: &v1alpha1.ModelOutage{Reason: "Away", Message: "m"}},
	} {
		spec.Attempt, spec.Index = 1, 3
		var b strings.Builder
		printStep(&b, &v1alpha1.MotorStep{Spec: spec})
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestACostIsShownBesideTheTokens(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]v1alpha1.Usage{
		"": {TotalTokens: 5}, ", 0.5 EUR": {Cost: "0.5", Currency: "EUR"}, ", without a price": {Unpriced: true},
		", 0.5 EUR and more without a price": {Cost: "0.5", Currency: "EUR", Unpriced: true},
	} {
		if got := costOf(u); got != want {
			t.Errorf("%+v: %q, want %q", u, got, want)
		}
	}
}
