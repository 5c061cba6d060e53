// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestRetriesAreOnlyAdded(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	one := `{"id":"retry-1","decision":"Retry","guidance":"use port 8080","respondedBy":"admin"}`
	tests := map[string]struct {
		json, merge string
		refused     string
	}{
		"another one by JSON patch":             {json: `[{"op":"add","path":"/spec/responses/-","value":{"id":"retry-2","decision":"Retry"}}]`},
		"another one before it":                 {json: `[{"op":"add","path":"/spec/responses/0","value":{"id":"retry-2","decision":"Retry","guidance":"g"}}]`},
		"both by merge patch":                   {merge: `{"spec":{"responses":[` + one + `,{"id":"retry-2","decision":"Retry"}]}}`},
		"other guidance":                        {json: `[{"op":"replace","path":"/spec/responses/0/guidance","value":"b"}]`, refused: "a response cannot be changed"},
		"the guidance removed":                  {json: `[{"op":"remove","path":"/spec/responses/0/guidance"}]`, refused: "a response cannot be changed"},
		"another number":                        {json: `[{"op":"replace","path":"/spec/responses/0/id","value":"retry-2"}]`, refused: "cannot be taken back"},
		"removed":                               {json: `[{"op":"remove","path":"/spec/responses/0"}]`, refused: "cannot be taken back"},
		"the list removed":                      {json: `[{"op":"remove","path":"/spec/responses"}]`, refused: "cannot be taken back"},
		"the list null":                         {merge: `{"spec":{"responses":null}}`, refused: "cannot be taken back"},
		"replaced by another one (merge patch)": {merge: `{"spec":{"responses":[{"id":"retry-2","decision":"Retry"}]}}`, refused: "cannot be taken back"},
		"the same number again":                 {json: `[{"op":"add","path":"/spec/responses/-","value":{"id":"retry-1","decision":"Retry"}}]`, refused: "spec.responses[1]"},
		"guidance with another decision":        {json: `[{"op":"add","path":"/spec/responses/-","value":{"id":"retry-2","decision":"Stop","guidance":"g"}}]`, refused: "go with the decision Retry"},
		"domains with an answer":                {json: `[{"op":"add","path":"/spec/responses/-","value":{"id":"q","answer":"a","addDomains":["example.org"]}}]`, refused: "go with the decision Retry"},
		"a domain":                              {json: `[{"op":"add","path":"/spec/responses/-","value":{"id":"retry-2","decision":"Retry","addDomains":["example.org"]}}]`},
		"a domain for the one that is there":    {json: `[{"op":"add","path":"/spec/responses/0/addDomains","value":["example.org"]}]`, refused: "a response cannot be changed"},
	}
	i := 0
	for name, tt := range tests {
		i++
		runName := fmt.Sprintf("run%d", i)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			run := createRun(ctx, t, ns, func(r *v1alpha1.MotorRun) { r.Name = runName })
			must(t, jsonPatch(ctx, run, `[{"op":"add","path":"/spec/responses/-","value":`+one+`}]`))
			err := patchAs(ctx, run, tt.json, tt.merge)
			if tt.refused != "" {
				wantRefused(t, err, "spec.responses", tt.refused)
				return
			}
			must(t, err)
			if len(run.Spec.Responses) != 2 {
				t.Errorf("%d retries, want 2", len(run.Spec.Responses))
			}
		})
	}
}

// Whoever applied the run does not take back, by applying it again, what others added; and nobody overwrites anybody.
func TestRetriesByApply(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	apply := func(spec, owner string) error {
		o := client.ApplyConfigurationFromUnstructured(runYAML(t, ns, "run", spec))
		return admin.Apply(ctx, o, client.FieldOwner(owner))
	}
	must(t, apply("{task: a, tools: [read], approval: {onUnknown: Model}}", "author"))
	must(t, apply("{responses: [{id: retry-1, decision: Retry, guidance: one}]}", "first"))
	must(t, apply("{responses: [{id: retry-2, decision: Retry}], suspend: true}", "second"))
	must(t, apply("{task: a, tools: [read], approval: {onUnknown: Model}}", "author"))
	must(t, apply("{responses: [{id: retry-2, decision: Retry}]}", "second"))

	var run v1alpha1.MotorRun
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "run"}, &run))
	want := []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry, Guidance: "one", RespondedBy: "admin"}, {ID: "retry-2", Decision: v1alpha1.DecisionRetry, RespondedBy: "admin"}}
	if diff := cmp.Diff(want, run.Spec.Responses); diff != "" || run.Spec.Suspend {
		t.Errorf("suspend %t, retries (-want +got):\n%s", run.Spec.Suspend, diff)
	}
	wantRefused(t, apply("{responses: [{id: retry-3, decision: Retry}]}", "first"), "cannot be taken back")
	wantRefused(t, apply("{responses: [{id: retry-1, decision: Retry, guidance: other}]}", "third"), "conflict")
	wantRefused(t, apply("{task: a, tools: [read]}", "author"), "spec.approval")
}

func TestMotorCortexDefaults(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	for name, tt := range map[string]struct{ spec, want string }{
		"unset is one": {`{}`, `{"concurrency":{"maxActive":1,"whenBusy":"Queue"}}`},
		"one place":    {`{concurrency: {}}`, `{"concurrency":{"maxActive":1,"whenBusy":"Queue"}}`},
		"places":       {`{concurrency: {maxActive: 5}}`, `{"concurrency":{"maxActive":5,"whenBusy":"Queue"}}`},
		"reject":       {`{concurrency: {whenBusy: Reject}}`, `{"concurrency":{"maxActive":1,"whenBusy":"Reject"}}`},
		"retention":    {`{retention: {maxFailed: 0}}`, `{"concurrency":{"maxActive":1,"whenBusy":"Queue"},"retention":{"maxFailed":0}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			o := runYAML(t, ns, v1alpha1.CortexName, tt.spec)
			o.SetKind("MotorCortex")
			must(t, admin.Create(ctx, o, client.DryRunAll))
			got, err := (&unstructured.Unstructured{Object: map[string]any{"spec": o.Object["spec"], "kind": "x"}}).MarshalJSON()
			must(t, err)
			if want := `{"kind":"x","spec":` + tt.want + `}`; strings.TrimSpace(string(got)) != want {
				t.Errorf("stored as %s, want %s", got, want)
			}
		})
	}
}

func TestSummarySteps(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	summary := func(index, through int32) func(*v1alpha1.MotorStepSpec) {
		return func(s *v1alpha1.MotorStepSpec) { s.Type, s.Index, s.Through = v1alpha1.StepSummary, index, through }
	}
	outcome := &v1alpha1.StepOutcome{Category: v1alpha1.CategoryModelFailure, Reason: "Why"}
	tests := map[string]struct {
		change func(*v1alpha1.MotorStepSpec)
		want   string
	}{
		"a summary":                   {change: summary(11, 8)},
		"of everything before it":     {change: summary(1000, 999)},
		"of nothing":                  {summary(11, 0), "through is set if, and only if, type is Summary"},
		"of itself":                   {summary(11, 11), "a Summary stands for steps before it"},
		"of what is not there yet":    {summary(11, 12), "a Summary stands for steps before it"},
		"of step -1":                  {summary(11, -1), "spec.through"},
		"over the last possible step": {summary(11, 1001), "spec.through"},
		"a turn with through":         {func(s *v1alpha1.MotorStepSpec) { s.Index, s.Through = 3, 1 }, "through is set if, and only if, type is Summary"},
		"a summary with an outcome":   {func(s *v1alpha1.MotorStepSpec) { summary(11, 8)(s); s.Outcome = outcome }, "outcome is set if, and only if"},
		"an outcome with through": {func(s *v1alpha1.MotorStepSpec) {
			s.Type, s.Index, s.Through, s.Outcome = v1alpha1.StepEnd, 3, 1, outcome
		}, "through is set"},
		"an outcome with a hint":      {change: func(s *v1alpha1.MotorStepSpec) { s.Type, s.Outcome = v1alpha1.StepEnd, withHint(outcome, 1024) }},
		"an outcome with a long hint": {func(s *v1alpha1.MotorStepSpec) { s.Type, s.Outcome = v1alpha1.StepEnd, withHint(outcome, 1025) }, "spec.outcome.hint"},
		"an outcome with what was done": {change: func(s *v1alpha1.MotorStepSpec) {
			s.Type, s.Outcome, s.Content = v1alpha1.StepEnd, outcome, "partly done"
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantStep(t, bareStep(ns, "step", tt.change), tt.want)
		})
	}
}

func withHint(o *v1alpha1.StepOutcome, length int) *v1alpha1.StepOutcome {
	o = o.DeepCopy()
	o.Hint = strings.Repeat("h", length)
	return o
}

// What the operator writes into a status must be in the installed schema and within its bounds: the API server drops a
// field that it does not know without a word, and refuses the whole write for one that is too long.
func TestStatusKeepsEveryField(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	now := metav1.Now().Rfc3339Copy()
	run := createRun(ctx, t, ns)
	status := v1alpha1.MotorRunStatus{
		Paused:  v1alpha1.PauseStatus{StartTime: &now, DurationSeconds: 12},
		Archive: &v1alpha1.ArchiveStatus{Key: "ns/run.jsonl", Steps: 3, Head: "sha256:" + strings.Repeat("a", 64)},
		PendingInputs: v1alpha1.PendingList(&v1alpha1.PendingInput{
			ID: "retry-1", Kind: v1alpha1.InputRetry, Title: "t", Question: "q", Attempt: new(int32(2)), AskTime: now, ExpirationTime: now,
		}),
		Result: &v1alpha1.RunResult{Summary: "s", Partial: "p"},
	}
	for i := range int32(10) {
		status.Attempts = append(status.Attempts, v1alpha1.AttemptStatus{
			Index: i + 1, Cause: v1alpha1.CauseInfrastructure, RecoveryContext: "c", StartTime: &now, CompletionTime: &now,
			Failure: &v1alpha1.FailureSummary{
				Category: v1alpha1.CategoryInfraFailure, Reason: "SandboxLost", Message: "m", LastStepName: "run-a01-s0001", Retryable: true,
				SuggestedAction: v1alpha1.ActionRetryWithGuidance, Hint: "h",
			},
		})
	}
	strict := client.WithFieldValidation(manager, metav1.FieldValidationStrict)
	base := run.DeepCopy()
	run.Status = status
	must(t, strict.Status().Patch(ctx, run, client.MergeFrom(base)))
	if diff := cmp.Diff(status, run.Status); diff != "" {
		t.Errorf("status as stored (-want +got):\n%s", diff)
	}

	step := bareStep(ns, "run-a01-s0001", func(s *v1alpha1.MotorStepSpec) { s.ToolCalls = []v1alpha1.ToolCall{{ID: "c", Tool: "bash"}} })
	must(t, strict.Create(ctx, step))
	want := v1alpha1.MotorStepStatus{
		Phase:   v1alpha1.StepOutcomeUnknown,
		Unknown: []v1alpha1.UnknownExecution{{Execution: "c", CallID: "c", DetectionTime: now, Policy: "Person"}, {Execution: "c-r1", CallID: "c", DetectionTime: now, Policy: "Redo"}},
		Results: []v1alpha1.ToolResult{{CallID: "c", Provenance: "User", ErrorCode: "skipped", WaitedMilliseconds: 5}},
	}
	stepBase := step.DeepCopy()
	step.Status = want
	must(t, strict.Status().Patch(ctx, step, client.MergeFrom(stepBase)))
	if diff := cmp.Diff(want, step.Status); diff != "" {
		t.Errorf("status of a step as stored (-want +got):\n%s", diff)
	}
	for name, patch := range map[string]string{
		"an unknown policy":       `{"status":{"unknown":[{"execution":"c","callID":"c","detectionTime":"2026-01-01T00:00:00Z","policy":"Forget"}]}}`,
		"the same execution":      `{"status":{"unknown":[{"execution":"c","callID":"c","detectionTime":"2026-01-01T00:00:00Z","policy":"Redo"},{"execution":"c","callID":"c","detectionTime":"2026-01-01T00:00:00Z","policy":"Redo"}]}}`,
		"an execution of no call": `{"status":{"unknown":[{"execution":"c","detectionTime":"2026-01-01T00:00:00Z","policy":"Redo"}]}}`,
	} {
		o := step.DeepCopy()
		wantRefused(t, manager.Status().Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(patch))), "status.unknown")
		t.Log(name, "is refused")
	}
	for field, patch := range map[string]string{
		"status.pendingInputs[0].kind":    `{"status":{"pendingInputs":[{"id":"q","kind":"Bribe"}]}}`,
		"status.pendingInputs[0].attempt": `{"status":{"pendingInputs":[{"id":"q","kind":"Retry","attempt":1}]}}`,
		"status.attempts[0].cause":        `{"status":{"attempts":[{"index":1,"cause":"Luck"}]}}`,
		"status.attempts[0].index":        `{"status":{"attempts":[{"index":0}]}}`,
		"status.attempts":                 `{"status":{"attempts":[{"index":11}]}}`,
		"status.egress.attempt":           `{"status":{"egress":{"attempt":11}}}`,
	} {
		o := run.DeepCopy()
		wantRefused(t, manager.Status().Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(patch))), field)
	}
}
