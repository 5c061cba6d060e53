// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/portfolio"
)

// The numbers of the sample come out of programs that run in the sandbox. Here they are computed again, from the same
// files and in another way, and everything that the run says must agree.
func TestThePortfolioSampleComesToWhatItsDataSays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer string
		// patch gives the type of the patch and the patch that answers.
		patch func(t *testing.T, id, answer string) (kind, text string)
	}{
		"answered with an option by a JSON patch": {answer: "skip it", patch: func(t *testing.T, id, answer string) (string, string) {
			return "json", respondPatch(t, id, answer)
		}},
		"answered with a price by a merge patch": {answer: "12.50", patch: func(t *testing.T, id, answer string) (string, string) {
			value, err := json.Marshal(map[string]any{"spec": map[string]any{"responses": []any{map[string]string{"id": id, "answer": answer}}}})
			must(t, err)
			return "merge", string(value)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := newNamespace(t, "portfolio")
			must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/portfolio", BaseURL: modelURL(modelServer)}))
			kubectl(t, "-n", ns, "apply", "-k", filepath.Join(samples, "portfolio"))
			run := &v1alpha1.MotorRun{}
			must(t, suite.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "portfolio"}, run))
			watchOver(t, run)

			kubectl(t, "-n", ns, "wait", "--for=condition=AwaitingInput", "--timeout=240s", "motorrun/portfolio")
			asked := awaitQuestion(t, run)
			wantPortfolioQuestion(t, asked)
			wantColumns(t, ns, "AwaitingInput")

			kind, text := tt.patch(t, asked.Status.Pending().ID, tt.answer)
			kubectl(t, "-n", ns, "patch", "motorrun", "portfolio", "--type="+kind, "-p", text)
			kubectl(t, "-n", ns, "wait", "--for=condition=Succeeded", "--timeout=240s", "motorrun/portfolio")

			done := wantCompleted(t, run, soon)
			podIsGone(t, done, soon)
			wantColumns(t, ns, "Completed")
			wantPortfolioConditions(t, done)
			wantPortfolioEvents(t, done)
			journal := wantWholeJournal(t, done)
			wantPlausibleStats(t, done, journal)
			wantPortfolioFigures(t, done, journal, tt.answer)
		})
	}
}

func wantPortfolioQuestion(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	p := run.Status.Pending()
	want := v1alpha1.PendingInput{
		ID: p.ID, Kind: v1alpha1.InputQuestion, Title: p.Title, Question: p.Question,
		Options: []string{"use the last known price", "skip it", "stop"}, Default: "skip it",
		StepName: "portfolio-a01-s0003", AskTime: p.AskTime,
		ExpirationTime: metav1.NewTime(p.AskTime.Add(1800e9)), OnTimeout: v1alpha1.OnTimeoutFail,
	}
	if diff := cmp.Diff(want, *p); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
	if !strings.Contains(p.Question, "has no price") || !strings.HasPrefix(p.Question, strings.TrimSuffix(p.Title, "…")) {
		t.Errorf("title %q, question %q", p.Title, p.Question)
	}
}

// awaitCortex waits until the MotorCortex is ready. It may be looked at before its model runs, and then after a minute again.
func awaitCortex(t *testing.T, ns string) {
	t.Helper()
	key := client.ObjectKey{Namespace: ns, Name: v1alpha1.CortexName}
	var c v1alpha1.MotorCortex
	err := await(t.Context(), 2*soon, &v1alpha1.MotorCortexList{}, one(key), func(ctx context.Context) (bool, error) {
		err := suite.client.Get(ctx, key, &c)
		return apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.CortexReady), err
	})
	if err != nil {
		t.Fatalf("the MotorCortex is not ready (%v): %+v", err, c.Status)
	}
}

// wantColumns looks at what kubectl prints.
func wantColumns(t *testing.T, ns, phase string) {
	t.Helper()
	awaitCortex(t, ns)
	standing := "Unknown +Question"
	if phase == "Completed" {
		standing = "True +Completed"
	}
	for _, tt := range []struct {
		args   []string
		header []string
		rows   []string
	}{
		{[]string{"motorrun", "portfolio"}, []string{"NAME", "SUCCEEDED", "REASON", "STEPS", "ASKS", "AGE"}, []string{`portfolio +` + standing + ` +\d+ `}},
		{
			[]string{"mrun", "portfolio", "-o", "wide"},
			[]string{"NAME", "SUCCEEDED", "REASON", "STEPS", "ASKS", "AGE", "PHASE", "ATTEMPT", "TOKENS", "COST", "POD", "MODEL", "PURPOSE", "MESSAGE"},
			[]string{`portfolio +` + standing + ` .* ` + phase + ` .* 1 +\d+( +<none>)? +portfolio-motor-sandbox +scripted/portfolio +\S`},
		},
		{
			[]string{"motorsteps", "-l", v1alpha1.LabelRun + "=portfolio"},
			[]string{"NAME", "STEP", "TOOLS", "OK", "TOKENS", "AGE"},
			[]string{`portfolio-a01-s0001 +1 +read,read +2/2 +\d+ `, `portfolio-a01-s0002 +2 +code +1/1 +\d+ `},
		},
		{[]string{"cortex"}, []string{"NAME", "READY", "REASON", "MODEL", "AGE"}, []string{`default +True +Available +scripted/portfolio`}},
	} {
		out := kubectl(t, append([]string{"-n", ns, "get"}, tt.args...)...)
		header, _, _ := strings.Cut(out, "\n")
		if diff := cmp.Diff(tt.header, strings.Fields(header)); diff != "" {
			t.Errorf("columns of kubectl get %s (-want +got):\n%s", strings.Join(tt.args, " "), diff)
		}
		for _, row := range tt.rows {
			if !regexp.MustCompile(`(?m)^` + row).MatchString(out) {
				t.Errorf("kubectl get %s prints no row like %q:\n%s", strings.Join(tt.args, " "), row, out)
			}
		}
	}
	if phase == "AwaitingInput" && !strings.Contains(kubectl(t, "-n", ns, "get", "motorrun", "portfolio"), "has no price") {
		t.Error("kubectl get does not show the question")
	}
	out := kubectl(t, "-n", ns, "get", "motor", "-o", "name")
	for _, kind := range []string{"motorrun", "motorstep", "motorcortex"} {
		if !strings.Contains(out, kind+".motorcortex.dev/") {
			t.Errorf("the category motor has no %s:\n%s", kind, out)
		}
	}
}

func wantPortfolioConditions(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	for conditionType, want := range map[string]metav1.ConditionStatus{
		v1alpha1.ConditionAccepted:          metav1.ConditionTrue,
		v1alpha1.ConditionIsolationVerified: metav1.ConditionTrue,
		v1alpha1.ConditionResponsesValid:    metav1.ConditionTrue,
		v1alpha1.ConditionSandboxReady:      metav1.ConditionFalse,
		v1alpha1.ConditionAwaitingInput:     metav1.ConditionFalse,
		v1alpha1.ConditionReconciling:       metav1.ConditionFalse,
		v1alpha1.ConditionStalled:           "absent",
	} {
		wantCondition(t, run, conditionType, want, "")
	}
	if c := condition(run, v1alpha1.ConditionUserNamespace); c.Status == "absent" {
		t.Error("nothing says whether the sandbox had a user namespace of its own")
	}
	if run.Status.ObservedGeneration != run.Generation || run.Status.Pending() != nil {
		t.Errorf("the status speaks of generation %d of %d and waits for %v", run.Status.ObservedGeneration, run.Generation, run.Status.Pending())
	}
}

func wantPortfolioEvents(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	want := []string{"SandboxReady", "Question", "Answered", "Completed"}
	var got []string
	err := await(t.Context(), soon, &eventsv1.EventList{}, []client.ListOption{client.InNamespace(run.Namespace)}, func(ctx context.Context) (bool, error) {
		var list eventsv1.EventList
		if err := suite.client.List(ctx, &list, client.InNamespace(run.Namespace)); err != nil {
			return false, err
		}
		slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
		got = nil
		for _, e := range list.Items {
			if e.Regarding.UID == run.UID && slices.Contains(want, e.Reason) {
				got = append(got, e.Reason)
				if e.Type != "Normal" {
					return false, fmt.Errorf("the event %s is a %s: %s", e.Reason, e.Type, e.Note)
				}
			}
		}
		return slices.Equal(want, got), nil
	})
	if err != nil {
		t.Errorf("events %v, want %v: %v", got, want, err)
	}
}

func wantPlausibleStats(t *testing.T, run *v1alpha1.MotorRun, journal []v1alpha1.MotorStep) {
	t.Helper()
	var calls, errs int32
	var tokens, modelMs, toolMs int64
	for _, s := range journal {
		calls += int32(len(s.Status.Results))
		for _, r := range s.Status.Results {
			if !r.OK {
				errs++
			}
		}
		tokens += s.Spec.Usage.TotalTokens
		modelMs += s.Spec.ModelMilliseconds
		toolMs += s.Status.ToolMilliseconds
	}
	got := run.Status.Result.Stats
	want := v1alpha1.RunStats{
		Iterations: int32(answersIn(journal)), ToolCalls: calls, Errors: errs, Tokens: tokens, ModelMilliseconds: modelMs, ToolMilliseconds: toolMs,
		DurationMilliseconds: got.DurationMilliseconds, WaitingMilliseconds: got.WaitingMilliseconds, OverheadMilliseconds: got.OverheadMilliseconds,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stats against the journal (-want +got):\n%s", diff)
	}
	took := run.Status.CompletionTime.Sub(run.CreationTimestamp.Time).Milliseconds()
	parts := got.ModelMilliseconds + got.ToolMilliseconds + got.WaitingMilliseconds + got.OverheadMilliseconds
	// Times in the API have whole seconds: the wait can be recorded longer than it was, and nothing is left for the rest then.
	if got.Iterations != 7 || got.Errors != 0 || got.Tokens == 0 || got.DurationMilliseconds < took || got.DurationMilliseconds > took+1000 ||
		got.WaitingMilliseconds <= 0 || got.OverheadMilliseconds < 0 || parts < got.DurationMilliseconds-1 || parts > got.DurationMilliseconds+1000 {
		t.Errorf("implausible stats of a run that took %d ms: %+v", took, got)
	}
	if run.Status.Steps != 7 || run.Status.Usage.TotalTokens != tokens {
		t.Errorf("status says %d steps and %d tokens, the journal 7 and %d", run.Status.Steps, run.Status.Usage.TotalTokens, tokens)
	}
}

var symbolInSummary = regexp.MustCompile(`\(([A-Z]+), `)

// lineNumber is what read puts before each line.
var lineNumber = regexp.MustCompile(`(?m)^ *[0-9]+\t`)

// wantPortfolioFigures compares summary and report with what the data comes to.
func wantPortfolioFigures(t *testing.T, run *v1alpha1.MotorRun, journal []v1alpha1.MotorStep, answer string) {
	t.Helper()
	positions, err := os.ReadFile(filepath.Join(samples, "portfolio", "portfolio.csv"))
	must(t, err)
	strategy, err := os.ReadFile(filepath.Join(samples, "portfolio", "strategy.md"))
	must(t, err)
	want, err := portfolio.Compare(positions, strategy, answer)
	must(t, err)

	var below, named []string
	for _, p := range want.Below {
		below = append(below, p.Symbol)
	}
	for _, m := range symbolInSummary.FindAllStringSubmatch(run.Status.Result.Summary, -1) {
		named = append(named, m[1])
	}
	if diff := cmp.Diff(below, named); diff != "" || len(below) == 0 {
		t.Errorf("positions that the summary names as below target (-want +got):\n%s%s", diff, run.Status.Result.Summary)
	}

	// The answer after it calls finish, and the end is a step of its own.
	last := journal[len(journal)-3]
	if last.Spec.Tools != "read" || len(last.Status.Results) != 1 {
		t.Fatalf("step %s does not read the report back: %s", last.Name, last.Spec.Tools)
	}
	var rows, reported []string
	for _, p := range want.Positions {
		rows = append(rows, fmt.Sprintf("| %s | %s | %.2f | %.2f | %.2f | %+.2f |", p.Symbol, p.Name, p.Value, p.Weight, p.Target, p.Deviation()))
	}
	report := lineNumber.ReplaceAllString(last.Status.Results[0].Output, "")
	_, table, _ := strings.Cut(report, "|---|---|---:|---:|---:|---:|\n")
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "|") {
			reported = append(reported, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(rows, reported); diff != "" {
		t.Errorf("the table of report.md (-want +got):\n%s", diff)
	}
	if total := fmt.Sprintf("Total value: %.2f EUR", want.Total); !strings.Contains(report, total) {
		t.Errorf("report.md does not say %q", total)
	}
}
