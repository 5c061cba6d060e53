// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/output"
)

// lived is a run that asked, and whose second attempt succeeded.
func lived() (*v1alpha1.MotorRun, []v1alpha1.MotorStep) {
	first := turn(1, 1, time.Second, "I look.", v1alpha1.ToolCall{ID: "c0", Tool: "read", Arguments: `{"path":"a"}`}, v1alpha1.ToolCall{ID: "c1", Tool: "ask_user", Arguments: `{}`})
	first.Status.Results = []v1alpha1.ToolResult{{CallID: "c0", OK: true, Output: "<b>\x1b", DurationMilliseconds: 3}}
	first.Status.Asks = []v1alpha1.StepAsk{{ID: "q", CallID: "c1", Kind: v1alpha1.InputQuestion}}
	end := turn(1, 2, 2*time.Second, "")
	end.Spec.Type, end.Spec.Outcome = v1alpha1.StepEnd, &v1alpha1.StepOutcome{Reason: "Stuck"}
	second := turn(2, 1, 3*time.Second, "", v1alpha1.ToolCall{ID: "c2", Tool: "bash", Arguments: `{"command":"ls"}`})
	second.Status.Results = []v1alpha1.ToolResult{{CallID: "c2", ErrorCode: "exit_1"}}
	run := aRun(v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Question: "Which?", AskTime: after(time.Second)})
	run.Status.Reason, run.Status.CompletionTime = "Completed", new(after(4*time.Second))
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue}}
	return run, []v1alpha1.MotorStep{first, end, second}
}

// told are the events that pass, and their types.
func told(t *testing.T, only follow.Filter) (types string, events []follow.Event) {
	t.Helper()
	run, steps := lived()
	var b strings.Builder
	r := follow.NewFormatter(&b, output.JSONL, run)
	r.Only = only
	r.Created()
	r.Steps(steps)
	r.Run(run)
	r.End()
	var all []string
	for line := range strings.Lines(b.String()) {
		var e follow.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all, events = append(all, string(e.Type)), append(events, e)
	}
	return strings.Join(all, " "), events
}

func TestFilter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		only follow.Filter
		want string
	}{
		"all":              {follow.Filter{}, "Created Says Called AttemptFailed Called Asks Ended"},
		"an attempt":       {follow.Filter{Attempt: 2}, "Called"},
		"a step of all":    {follow.Filter{Step: 1}, "Says Called Called Asks"},
		"a step of one":    {follow.Filter{Attempt: 1, Step: 2}, "AttemptFailed"},
		"a tool":           {follow.Filter{Tool: "read"}, "Called"},
		"a tool that asks": {follow.Filter{Tool: "ask_user"}, "Asks"},
		"a tool elsewhere": {follow.Filter{Tool: "bash", Attempt: 1}, ""},
	} {
		if got, _ := told(t, tt.only); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A program gets texts as they are, and what each event is about.
func TestEventsForPrograms(t *testing.T) {
	t.Parallel()
	_, events := told(t, follow.Filter{})
	called := events[slices.IndexFunc(events, func(e follow.Event) bool { return e.Type == follow.Called })]
	if called.Result.Output != "<b>\x1b" || called.Call.Tool != "read" || called.Run != "portfolio" || called.Namespace != "agents" || called.Attempt != 1 || called.Step != 1 {
		t.Errorf("the call is %+v", called)
	}
	if want := start.Add(time.Second + 3*time.Millisecond); !called.Time.Equal(want) {
		t.Errorf("the call ended at %s, want %s", called.Time, want)
	}
	asks := events[len(events)-2]
	if asks.Ask.Question != "Which?" || len(asks.Commands) != 1 || asks.Call.ID != "c1" || asks.Step != 1 {
		t.Errorf("the ask is %+v", asks)
	}
	if end := events[len(events)-1]; end.Reason != "Completed" || end.Succeeded == nil || !*end.Succeeded {
		t.Errorf("the end is %+v", end)
	}
}
