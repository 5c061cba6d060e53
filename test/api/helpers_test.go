// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// deadline bounds every test: the control plane shares the machine with other work.
const deadline = 5 * time.Minute

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

var namespaces atomic.Int32

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func newNamespace(ctx context.Context, t *testing.T, labels ...string) string {
	t.Helper()
	ns := namespace(fmt.Sprintf("t%d", namespaces.Add(1)))
	for i := 0; i+1 < len(labels); i += 2 {
		metav1.SetMetaDataLabel(&ns.ObjectMeta, labels[i], labels[i+1])
	}
	must(t, admin.Create(ctx, ns))
	return ns.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantRefused fails unless err is a refusal that speaks of every part.
func wantRefused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the refusal does not say %q:\n%v", part, err)
		}
	}
}

// fromYAML reads an object as a person would write it, so that absent fields are absent.
func fromYAML(t *testing.T, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	must(t, yaml.UnmarshalStrict([]byte(text), &o.Object))
	o.SetNamespace(namespace)
	return o
}

// runYAML is a MotorRun of that spec, which is written in one line or indented by two.
func runYAML(t *testing.T, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := fromYAML(t, namespace, "apiVersion: motorcortex.dev/v1alpha1\nkind: MotorRun\n")
	var m map[string]any
	must(t, yaml.UnmarshalStrict([]byte(spec), &m))
	o.Object["spec"] = m
	o.SetName(name)
	return o
}

func newRun(namespace string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: namespace},
		Spec: v1alpha1.MotorRunSpec{
			Task: "count the words", Tools: []v1alpha1.ToolName{"bash", "read"},
			Limits: v1alpha1.RunLimits{ActiveDeadlineSeconds: 600, InputDeadlineSeconds: 300},
		},
	}
	for _, c := range change {
		c(run)
	}
	return run
}

func createRun(ctx context.Context, t *testing.T, namespace string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	t.Helper()
	run := newRun(namespace, change...)
	must(t, admin.Create(ctx, run))
	return run
}

func jsonPatch(ctx context.Context, o client.Object, patch string) error {
	return admin.Patch(ctx, o, client.RawPatch(types.JSONPatchType, []byte(patch)))
}

func mergePatch(ctx context.Context, o client.Object, patch string) error {
	return admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// patchAs applies the JSON patch, or the merge patch if there is none.
func patchAs(ctx context.Context, o client.Object, json, merge string) error {
	if json != "" {
		return jsonPatch(ctx, o, json)
	}
	return mergePatch(ctx, o, merge)
}

// respond answers as the design tells people to.
func respond(ctx context.Context, t *testing.T, run *v1alpha1.MotorRun, id, answer string) {
	t.Helper()
	value, err := json.Marshal(map[string]string{"id": id, "answer": answer})
	must(t, err)
	must(t, jsonPatch(ctx, run.DeepCopy(), `[{"op":"add","path":"/spec/responses/-","value":`+string(value)+`}]`))
}

// decideUnknown decides about a call of unknown outcome. A decision that is none of the three is the reason to skip it.
func decideUnknown(ctx context.Context, t *testing.T, run *v1alpha1.MotorRun, id string, decision v1alpha1.Decision) {
	t.Helper()
	r := v1alpha1.Response{ID: id, Decision: decision}
	if decision != v1alpha1.DecisionRetry && decision != v1alpha1.DecisionDone && decision != v1alpha1.DecisionSkip {
		r.Decision, r.Reason = v1alpha1.DecisionSkip, string(decision)
	}
	value, err := json.Marshal(r)
	must(t, err)
	must(t, jsonPatch(ctx, run.DeepCopy(), `[{"op":"add","path":"/spec/responses/-","value":`+string(value)+`}]`))
}

// turnAt is what a model decided in the first attempt: calls are written as "tool:arguments".
func turnAt(index int32, content string, calls ...string) *turn.Turn {
	return turnOf(1, index, content, calls...)
}

func turnOf(attempt, index int32, content string, calls ...string) *turn.Turn {
	t := &turn.Turn{
		Index: index, Model: "model-1", Content: content, ModelDuration: 1500 * time.Millisecond,
		Usage:        turn.Usage{PromptTokens: 100, CompletionTokens: 20, CachedTokens: 50},
		PromptDigest: "sha256:prompt", RequestDigest: fmt.Sprintf("sha256:request%d", index),
		Results: make([]*toolapi.Result, len(calls)), Closes: len(calls) == 0,
	}
	for i, c := range calls {
		tool, arguments, _ := strings.Cut(c, ":")
		id := turn.CallID(attempt, index, i)
		t.Calls = append(t.Calls, turn.Call{ID: id, ModelID: "m-" + id, Tool: tool, Arguments: arguments})
	}
	return t
}

func okResult(output string, ms int64) *toolapi.Result {
	return &toolapi.Result{OK: true, Output: output, Provenance: toolapi.ProvenanceInternal, DurationMs: ms}
}

// resultAt returns the result of a call of a step, and fails the test if there is none: an index beyond the end would end all tests of the package.
func resultAt(t *testing.T, steps []v1alpha1.MotorStep, step, call int) v1alpha1.ToolResult {
	t.Helper()
	if step >= len(steps) {
		t.Fatalf("there are %d steps, and none at %d", len(steps), step)
	}
	return resultIn(t, steps[step].Status.Results, call)
}

// askIn returns the first ask of a step, and fails the test if there is none.
func askIn(t *testing.T, steps []v1alpha1.MotorStep, step int) v1alpha1.StepAsk {
	t.Helper()
	return at(t, at(t, steps, step).Status.Asks, 0)
}

// at returns an entry of a list, and fails the test if there is none: an index out of range ends all tests.
func at[T any](t *testing.T, list []T, i int) T {
	t.Helper()
	if i >= len(list) {
		t.Fatalf("there are %d entries, and none at %d: %+v", len(list), i, list)
	}
	return list[i]
}

// artifactAt returns one of the artifacts that a step has, and fails the test if there is none.
func artifactAt(t *testing.T, steps []v1alpha1.MotorStep, step, i int) v1alpha1.Artifact {
	t.Helper()
	list := at(t, steps, step).Status.Artifacts
	if list == nil {
		t.Fatalf("step %d has no artifacts: %+v", step, steps[step].Status)
	}
	return at(t, list.Files, i)
}

// resultIn returns one of the results of a step, and fails the test if there is none.
func resultIn(t *testing.T, results []v1alpha1.ToolResult, call int) v1alpha1.ToolResult {
	t.Helper()
	if call >= len(results) {
		t.Fatalf("there are %d results, and none at %d: %+v", len(results), call, results)
	}
	return results[call]
}

// attemptAt returns the attempt of the run with that number. That it is missing fails the test, and ends no other one.
func attemptAt(t *testing.T, run *v1alpha1.MotorRun, number int32) v1alpha1.AttemptStatus {
	t.Helper()
	a := run.Status.AttemptNumber(number)
	if a == nil {
		t.Fatalf("the run has no attempt %d: %+v", number, run.Status)
	}
	return *a
}

// failureAt returns how the attempt of the run with that number failed.
func failureAt(t *testing.T, run *v1alpha1.MotorRun, number int32) *v1alpha1.FailureSummary {
	t.Helper()
	f := attemptAt(t, run, number).Failure
	if f == nil {
		t.Fatalf("attempt %d did not fail: %+v", number, run.Status)
	}
	return f
}
