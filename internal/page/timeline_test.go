// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

type shownAttempt struct {
	Index                   int32
	ModelMS, ToolMS, WaitMS int64
	Steps                   []struct {
		Index int32
		Type  string
		Calls []struct{ Tool, Brief, State, Code string }
	}
}

type shownRun struct {
	Run struct {
		State, Note string
		Attempts    []shownAttempt
	}
}

// steps are those of a run with two attempts, and one that a run of the same name left.
func steps(run *v1alpha1.MotorRun) []client.Object {
	approved := &v1alpha1.ToolResult{OK: true, DurationMilliseconds: 900, WaitedMilliseconds: 41000}
	asked := fakecluster.Step(run, 2, 1, "ask_user", `{"question":"Which?"}`, &v1alpha1.ToolResult{OK: true})
	asked.Status.Asks = []v1alpha1.StepAsk{{
		ID: "q", Kind: v1alpha1.InputQuestion, CallID: asked.Spec.ToolCalls[0].ID, Outcome: v1alpha1.AskAnswered, By: "dana",
		AskTime: run.CreationTimestamp, CloseTime: metav1.NewTime(run.CreationTimestamp.Add(5 * time.Second)),
	}}
	unknown := fakecluster.Step(run, 2, 2, "bash", `{"command":"pay"}`, nil)
	unknown.Status.Unknown = []v1alpha1.UnknownExecution{{Execution: "x", CallID: unknown.Spec.ToolCalls[0].ID}}
	outage := fakecluster.Step(run, 1, 2, "", "", nil)
	outage.Name, outage.Spec.Type, outage.Spec.ToolCalls, outage.Spec.ModelMilliseconds = "outage", v1alpha1.StepOutage, nil, 0
	outage.Spec.Outage = &v1alpha1.ModelOutage{Reason: "RateLimited"}
	former := fakecluster.Step(run, 1, 9, "bash", "{}", nil)
	former.OwnerReferences[0].UID = "of-a-former-run"
	return []client.Object{
		run, fakecluster.Step(run, 1, 2, "bash", `{"command":"false"}`, &v1alpha1.ToolResult{ErrorCode: "exit_status", DurationMilliseconds: 100}),
		fakecluster.Step(run, 1, 1, "edit", `{"path":"a"}`, approved), outage, asked, unknown, former,
	}
}

func TestAttemptsStandSideBySideWithTheirTimes(t *testing.T) {
	t.Parallel()
	run := fakecluster.Run("ns", "run")
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}, {Index: 3}}
	r := newRig(t, fakecluster.New(t, steps(run)...))
	var got shownRun
	r.asks(http.MethodGet, "/api/runs/ns/run", "", &got)
	type call = struct{ Tool, Brief, State, Code string }
	type step = struct {
		Index int32
		Type  string
		Calls []call
	}
	want := []shownAttempt{
		{Index: 1, ModelMS: 3600, ToolMS: 1000, WaitMS: 41000, Steps: []step{
			{1, "Turn", []call{{"edit", "a", "ok", ""}}}, {2, "Outage", nil}, {2, "Turn", []call{{"bash", "false", "failed", "exit_status"}}},
		}},
		{Index: 2, ModelMS: 3600, WaitMS: 5000, Steps: []step{{1, "Turn", []call{{"ask_user", "Which?", "ok", ""}}}, {2, "Turn", []call{{"bash", "pay", "unknown", ""}}}}},
		{Index: 3, Steps: []step{}},
	}
	if diff := cmp.Diff(want, got.Run.Attempts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A person who reads no steps still sees the run, and why steps are missing.
func TestARunIsShownWithoutItsSteps(t *testing.T) {
	t.Parallel()
	run := fakecluster.Run("ns", "run")
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}}
	r := newRig(t, fakecluster.New(t, run))
	r.Deny("list motorsteps")
	var got shownRun
	if status, raw := r.asks(http.MethodGet, "/api/runs/ns/run", "", &got); status != http.StatusOK || len(got.Run.Attempts) != 1 || !strings.Contains(got.Run.Note, "motorcortex-viewer") {
		t.Errorf("%d: %s", status, raw)
	}
	archived := fakecluster.Run("ns", "archived")
	archived.Status.Archive = &v1alpha1.ArchiveStatus{Key: "runs/1", Steps: 7}
	r = newRig(t, fakecluster.New(t, archived))
	r.want(http.StatusOK, http.MethodGet, "/api/runs/ns/archived", "", "7 steps are in the archive, under the key runs/1")
}

func TestRunsAreListedByHowTheyStand(t *testing.T) {
	t.Parallel()
	end := new(metav1.Now())
	with := func(name string, change func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
		run := fakecluster.Run("ns", name)
		change(run)
		return run
	}
	r := newRig(t, fakecluster.New(t,
		with("running", func(*v1alpha1.MotorRun) {}), fakecluster.Run("ns", "waiting", v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Title: "Which?"}),
		with("suspended", func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }), with("failed", func(r *v1alpha1.MotorRun) { r.Status.CompletionTime = end }),
		with("succeeded", func(r *v1alpha1.MotorRun) {
			r.Status.CompletionTime = end
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue}}
		}), fakecluster.Run("other", "elsewhere")))
	var got struct {
		Items []struct{ Name, State, WaitsFor string }
	}
	r.asks(http.MethodGet, "/api/runs?namespace=ns", "", &got)
	if len(got.Items) != 5 {
		t.Errorf("%+v", got.Items)
	}
	for _, run := range got.Items {
		if run.State != run.Name || (run.WaitsFor == "question: Which?") != (run.Name == "waiting") {
			t.Errorf("%+v", run)
		}
	}
}
