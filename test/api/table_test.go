// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// tableOf asks the API server for what kubectl get prints, wide columns included. size is that of the answer.
func tableOf(ctx context.Context, t *testing.T, namespace, resource string) (got metav1.Table, size int) {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(adminConfig)
	must(t, err)
	url := strings.TrimSuffix(adminConfig.Host, "/") + "/apis/motorcortex.dev/v1alpha1/namespaces/" + namespace + "/" + resource
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	must(t, err)
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	resp, err := httpClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	must(t, json.Unmarshal(body, &got))
	return got, len(body)
}

// table is that of one object: by column, without the age.
func table(ctx context.Context, t *testing.T, namespace, resource string) (columns map[string]int32, row map[string]any) {
	t.Helper()
	got, _ := tableOf(ctx, t, namespace, resource)
	if len(got.Rows) != 1 {
		t.Fatalf("%d rows: %+v", len(got.Rows), got.Rows)
	}
	columns, row = map[string]int32{}, map[string]any{}
	for i, c := range got.ColumnDefinitions {
		columns[c.Name] = c.Priority
		if c.Name != "Age" {
			row[c.Name] = got.Rows[0].Cells[i]
		}
	}
	return columns, row
}

func TestPrintedColumns(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)

	run := createRun(ctx, t, ns)
	columns, _ := table(ctx, t, ns, "motorruns")
	wantColumns := map[string]int32{
		"Name": 0, "Succeeded": 0, "Reason": 0, "Steps": 0, "Asks": 0, "Age": 0, "Phase": 1, "Attempt": 1, "Tokens": 1, "Cost": 1, "Pod": 1, "Model": 1, "Purpose": 1, "Message": 1,
	}
	if diff := cmp.Diff(wantColumns, columns); diff != "" {
		t.Errorf("columns of a MotorRun (-want +got):\n%s", diff)
	}
	base := run.DeepCopy()
	run.Status = v1alpha1.MotorRunStatus{
		Phase: v1alpha1.PhaseAwaitingInput, Reason: v1alpha1.ReasonQuestion, Message: "Waiting.", Model: "model-1", Steps: 3, Usage: v1alpha1.Usage{TotalTokens: 4711, Cost: "0.125"},
		Sandbox: &v1alpha1.SandboxStatus{PodName: "run-motor-sandbox"}, Attempts: []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}},
		PendingInputs: v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Title: "Which one?"}),
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonRunning, LastTransitionTime: metav1.Now(),
		}},
	}
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(base)))
	_, row := table(ctx, t, ns, "motorruns")
	want := map[string]any{
		"Name": "run", "Succeeded": "Unknown", "Reason": "Question", "Steps": 3.0, "Asks": "Which one?", "Phase": "AwaitingInput", "Tokens": 4711.0, "Cost": "0.125", "Attempt": 2.0,
		"Pod": "run-motor-sandbox", "Model": "model-1", "Purpose": nil, "Message": "Waiting.",
	}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("row of a MotorRun (-want +got):\n%s", diff)
	}

	step := bareStep(ns, "run-a01-s0001", func(s *v1alpha1.MotorStepSpec) {
		s.Type, s.Outcome = v1alpha1.StepEnd, &v1alpha1.StepOutcome{Category: v1alpha1.CategoryToolFailure, Reason: "Why"}
		s.Tools, s.ModelMilliseconds, s.Usage = "bash,read", 12, v1alpha1.Usage{TotalTokens: 34, Cost: "0.0625"}
	})
	step.Labels = map[string]string{v1alpha1.LabelRun: "run"}
	must(t, manager.Create(ctx, step))
	stepBase := step.DeepCopy()
	step.Status = v1alpha1.MotorStepStatus{Phase: v1alpha1.StepSettled, OK: "1/2", ToolMilliseconds: 56}
	must(t, manager.Status().Patch(ctx, step, client.MergeFrom(stepBase)))
	_, row = table(ctx, t, ns, "motorsteps")
	want = map[string]any{
		"Name": "run-a01-s0001", "Step": 1.0, "Tools": "bash,read", "OK": "1/2", "Model-ms": 12.0, "Tool-ms": 56.0, "Tokens": 34.0, "Cost": "0.0625",
		"Type": "Outcome", "Phase": "Settled", "Run": "run", "Attempt": 1.0, "Outcome": "Why",
	}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("row of a MotorStep (-want +got):\n%s", diff)
	}

	pool := &v1alpha1.SandboxPool{ObjectMeta: meta(ns, "warm"), Spec: v1alpha1.SandboxPoolSpec{Replicas: new(int32(3))}}
	must(t, admin.Create(ctx, pool))
	poolBase := pool.DeepCopy()
	pool.Status = v1alpha1.SandboxPoolStatus{Replicas: 3, ReadyReplicas: 2, Conditions: []metav1.Condition{{
		Type: v1alpha1.PoolReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonPoolFilling, Message: "Sandboxes start.", LastTransitionTime: metav1.Now(),
	}}}
	must(t, manager.Status().Patch(ctx, pool, client.MergeFrom(poolBase)))
	_, row = table(ctx, t, ns, "sandboxpools")
	if diff := cmp.Diff(map[string]any{"Name": "warm", "Desired": 3.0, "Ready": 2.0, "Reason": "Filling", "Message": "Sandboxes start."}, row); diff != "" {
		t.Errorf("row of a SandboxPool (-want +got):\n%s", diff)
	}
}

func TestShortNamesAndCategory(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	httpClient, err := rest.HTTPClientFor(adminConfig)
	must(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(adminConfig.Host, "/")+"/apis/motorcortex.dev/v1alpha1", nil)
	must(t, err)
	resp, err := httpClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	var list metav1.APIResourceList
	must(t, json.NewDecoder(resp.Body).Decode(&list))
	got := map[string][]string{}
	for _, r := range list.APIResources {
		if len(r.ShortNames) > 0 {
			got[r.Name] = append(r.ShortNames, r.Categories...)
		}
	}
	want := map[string][]string{"motorruns": {"mrun", "motor"}, "motorsteps": {"mstep", "motor"}, "motorcortices": {"cortex", "motor"}, "skills": {"mskill", "motor"}, "skillrevisions": {"srev", "motor"}, "sandboxpools": {"spool", "motor"}, "motorschedules": {"msched", "motor"}, "motorruntemplates": {"mrt", "motor"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("short names and categories (-want +got):\n%s", diff)
	}
}
