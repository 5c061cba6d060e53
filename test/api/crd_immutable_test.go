// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const wholeSpec = `{task: a, tools: [read], domains: [example.org], files: [{path: a, content: x}], model: {name: m},
  limits: {maxIterations: 5, maxTokens: 1000}, sandbox: {runtimeClassName: r, resources: {cpu: "1"}},
  approval: {onUnknown: Model}, accept: {files: [a], commands: [{command: make test}]}, maxAttempts: 2, priority: 5, keep: Artifacts}`

func TestSpecNeverChanges(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	tests := map[string]struct{ field, patch string }{
		"mode":                  {"spec.mode", `{"spec":{"mode":"Oneshot","task":null,"code":{"language":"python","source":"x"}}}`},
		"task":                  {"spec.task", `{"spec":{"task":"b"}}`},
		"task removed":          {"spec.task", `{"spec":{"task":null}}`},
		"code added":            {"spec.code", `{"spec":{"code":{"language":"python","source":"x"}}}`},
		"tool added":            {"spec.tools", `{"spec":{"tools":["read","bash"]}}`},
		"tools removed":         {"spec.tools", `{"spec":{"tools":null}}`},
		"domain added":          {"spec.domains", `{"spec":{"domains":["example.org","example.net"]}}`},
		"domains emptied":       {"spec.domains", `{"spec":{"domains":[]}}`},
		"domains removed":       {"spec.domains", `{"spec":{"domains":null}}`},
		"file changed":          {"spec.files", `{"spec":{"files":[{"path":"a","content":"y"}]}}`},
		"files removed":         {"spec.files", `{"spec":{"files":null}}`},
		"model":                 {"spec.model", `{"spec":{"model":{"name":"n"}}}`},
		"model removed":         {"spec.model", `{"spec":{"model":null}}`},
		"limit raised":          {"spec.limits", `{"spec":{"limits":{"maxIterations":6}}}`},
		"limit removed":         {"spec.limits", `{"spec":{"limits":{"maxTokens":null}}}`},
		"limits to the default": {"spec.limits", `{"spec":{"limits":null}}`},
		"runtime class":         {"spec.sandbox", `{"spec":{"sandbox":{"runtimeClassName":null}}}`},
		"resources":             {"spec.sandbox", `{"spec":{"sandbox":{"resources":{"cpu":"2"}}}}`},
		"resource added":        {"spec.sandbox", `{"spec":{"sandbox":{"resources":{"memory":"1Gi"}}}}`},
		"resources removed":     {"spec.sandbox", `{"spec":{"sandbox":{"resources":null}}}`},
		"sandbox removed":       {"spec.sandbox", `{"spec":{"sandbox":null}}`},
		"retry window":          {"spec.limits", `{"spec":{"limits":{"retryDeadlineSeconds":60}}}`},
		"approval":              {"spec.approval", `{"spec":{"approval":{"onUnknown":"Person"}}}`},
		"approval removed":      {"spec.approval", `{"spec":{"approval":null}}`},
		"acceptance":            {"spec.accept", `{"spec":{"accept":{"commands":[{"command":"true"}]}}}`},
		"acceptance widened":    {"spec.accept", `{"spec":{"accept":{"files":["a","b"]}}}`},
		"acceptance removed":    {"spec.accept", `{"spec":{"accept":null}}`},
		"attempts raised":       {"spec.maxAttempts", `{"spec":{"maxAttempts":3}}`},
		"attempts removed":      {"spec.maxAttempts", `{"spec":{"maxAttempts":null}}`},
		"keep":                  {"spec.keep", `{"spec":{"keep":"Nothing"}}`},
		"keep removed":          {"spec.keep", `{"spec":{"keep":null}}`},
		"priority":              {"spec.priority", `{"spec":{"priority":6}}`},
		"priority removed":      {"spec.priority", `{"spec":{"priority":null}}`},
	}
	run := runYAML(t, ns, "run", wholeSpec)
	must(t, admin.Create(ctx, run))
	bare := runYAML(t, ns, "bare", "{task: a}")
	must(t, admin.Create(ctx, bare))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			wantRefused(t, mergePatch(ctx, run.DeepCopy(), tt.patch), tt.field)
		})
	}
	for field, value := range map[string]string{
		"tools": `["read"]`, "domains": `["example.org"]`, "files": `[{"path":"a","content":"x"}]`, "model": `{"name":"m"}`,
		"sandbox": `{"runtimeClassName":"r"}`, "approval": `{"onUnknown":"Person"}`, "accept": `{"files":["a"]}`, "maxAttempts": `1`, "priority": `1`,
	} {
		t.Run(field+" added later", func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			wantRefused(t, mergePatch(ctx, bare.DeepCopy(), fmt.Sprintf(`{"spec":{%q:%s}}`, field, value)), "spec."+field)
		})
	}
}

// A Go client that reads a run and writes it back leaves out what is empty, and writes quantities in its own way. That is no change.
func TestGoClientWritesAnyRunBack(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	for name, spec := range map[string]string{
		"whole":      wholeSpec,
		"bare":       `{task: a}`,
		"empty":      `{task: a, tools: [], domains: [], files: [], priority: 0, suspend: false, cancel: false, approval: {}, sandbox: {resources: {}}}`,
		"quantities": `{task: a, sandbox: {resources: {cpu: 1000m, memory: 1.5Gi, workspace: 1048576}}}`,
		"answered":   `{task: a, responses: [{id: q, answer: a}, {id: retry-1, decision: Retry}, {id: retry-2, decision: Retry, guidance: g, addDomains: [a.example.org]}], ttlSecondsAfterFinished: 0}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			must(t, admin.Create(ctx, runYAML(t, ns, name, spec)))
			var run v1alpha1.MotorRun
			must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &run))
			run.Spec.Responses = append(run.Spec.Responses, v1alpha1.Response{ID: "q9", Answer: "b"})
			must(t, admin.Update(ctx, &run))
		})
	}
}

func TestWhatMayChange(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	for _, patch := range []string{
		`{"spec":{"suspend":true}}`, `{"spec":{"suspend":false}}`, `{"spec":{"suspend":true}}`, `{"spec":{"suspend":null}}`,
		`{"spec":{"ttlSecondsAfterFinished":60}}`, `{"spec":{"ttlSecondsAfterFinished":0}}`, `{"spec":{"ttlSecondsAfterFinished":null}}`,
		`{"spec":{"cancel":true}}`, `{"spec":{"suspend":true}}`, `{"spec":{"ttlSecondsAfterFinished":1}}`,
	} {
		if err := mergePatch(ctx, run, patch); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
}

func TestCancelIsForEver(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	must(t, mergePatch(ctx, run, `{"spec":{"cancel":false}}`))
	must(t, mergePatch(ctx, run, `{"spec":{"cancel":true}}`))
	must(t, mergePatch(ctx, run, `{"spec":{"cancel":true}}`))
	for name, patch := range map[string]string{
		"false":   `[{"op":"replace","path":"/spec/cancel","value":false}]`,
		"removed": `[{"op":"remove","path":"/spec/cancel"}]`,
	} {
		wantRefused(t, jsonPatch(ctx, run.DeepCopy(), patch), "spec.cancel", "cannot be brought back")
		t.Log(name, "is refused")
	}
	typed := run.DeepCopy()
	typed.Spec.Cancel = false
	wantRefused(t, admin.Update(ctx, typed), "spec.cancel")
	respond(ctx, t, run, "q", "a cancelled run may still be answered")
}

func TestResponsesAreOnlyAdded(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	one := `{"id":"q1","answer":"a1","respondedBy":"admin"}`
	start := func(ctx context.Context, t *testing.T, name string) *v1alpha1.MotorRun {
		run := createRun(ctx, t, ns, func(r *v1alpha1.MotorRun) { r.Name = name })
		must(t, jsonPatch(ctx, run, `[{"op":"add","path":"/spec/responses/-","value":`+one+`}]`))
		return run
	}
	tests := map[string]struct {
		json, merge string
		refused     string
	}{
		"another one by JSON patch":             {json: `[{"op":"add","path":"/spec/responses/-","value":{"id":"q2","answer":"a2"}}]`},
		"another one before it":                 {json: `[{"op":"add","path":"/spec/responses/0","value":{"id":"q2","answer":"a2"}}]`},
		"both by merge patch":                   {merge: `{"spec":{"responses":[` + one + `,{"id":"q2","answer":"a2"}]}}`},
		"another answer":                        {json: `[{"op":"replace","path":"/spec/responses/0/answer","value":"b"}]`, refused: "cannot be changed"},
		"another person":                        {json: `[{"op":"replace","path":"/spec/responses/0/respondedBy","value":"b"}]`, refused: "cannot be changed"},
		"the person removed":                    {json: `[{"op":"remove","path":"/spec/responses/0/respondedBy"}]`, refused: "cannot be changed"},
		"another id":                            {json: `[{"op":"replace","path":"/spec/responses/0/id","value":"b"}]`, refused: "cannot be taken back"},
		"removed":                               {json: `[{"op":"remove","path":"/spec/responses/0"}]`, refused: "cannot be taken back"},
		"the list removed":                      {json: `[{"op":"remove","path":"/spec/responses"}]`, refused: "cannot be taken back"},
		"the list null":                         {merge: `{"spec":{"responses":null}}`, refused: "cannot be taken back"},
		"replaced by another one (merge patch)": {merge: `{"spec":{"responses":[{"id":"q2","answer":"a2"}]}}`, refused: "cannot be taken back"},
		"the same id again":                     {json: `[{"op":"add","path":"/spec/responses/-","value":{"id":"q1","answer":"b"}}]`, refused: "spec.responses[1]"},
	}
	i := 0
	for name, tt := range tests {
		i++
		runName := fmt.Sprintf("run%d", i)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			run := start(ctx, t, runName)
			err := patchAs(ctx, run, tt.json, tt.merge)
			if tt.refused != "" {
				wantRefused(t, err, "spec.responses", tt.refused)
				return
			}
			must(t, err)
			if len(run.Spec.Responses) != 2 {
				t.Errorf("%d responses, want 2", len(run.Spec.Responses))
			}
		})
	}
}

// Who answered cannot be written into an answer later on.
func TestPersonIsNotAddedToAResponse(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	must(t, mergePatch(ctx, run, `{"spec":{"responses":[{"id":"q1","answer":"a1"}]}}`))
	err := jsonPatch(ctx, run, `[{"op":"add","path":"/spec/responses/0/respondedBy","value":"somebody else"}]`)
	wantRefused(t, err, "spec.responses", "cannot be changed")
}

func TestResponsesByApply(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	apply := func(spec, owner string) error {
		o := client.ApplyConfigurationFromUnstructured(runYAML(t, ns, "run", spec))
		return admin.Apply(ctx, o, client.FieldOwner(owner))
	}
	must(t, apply("{task: a, tools: [read]}", "author"))
	must(t, apply("{responses: [{id: q1, answer: one}]}", "first"))
	must(t, apply("{responses: [{id: q2, answer: two}]}", "second"))
	must(t, apply("{task: a, tools: [read]}", "author"))

	var run v1alpha1.MotorRun
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "run"}, &run))
	want := []v1alpha1.Response{{ID: "q1", Answer: "one", RespondedBy: "admin"}, {ID: "q2", Answer: "two", RespondedBy: "admin"}}
	if diff := cmp.Diff(want, run.Spec.Responses); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
	wantRefused(t, apply("{responses: [{id: q3, answer: three}]}", "first"), "cannot be taken back")
	wantRefused(t, apply("{responses: [{id: q2, answer: other}]}", "third"), "conflict")
}
