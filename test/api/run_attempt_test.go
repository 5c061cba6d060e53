// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func attempts(n int32) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) { run.Spec.MaxAttempts = n }
}

func TestRetry(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", "bash:{}"))
	r.step()
	r.failed("RepeatedToolFailure", outcome.Outcome{Hint: "Use port 8080.", Usage: turn.Usage{PromptTokens: 10}, ModelDuration: time.Second})
	failedAt := metav1.NewTime(r.now.Truncate(time.Second))
	res := r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True AttemptFailed", "SandboxReady True SandboxReady", "Finished False Running", "Stalled ",
		"Succeeded Unknown Running")
	r.wantAttempts("First RepeatedToolFailure")
	run := r.run()
	p := run.Status.Pending()
	if p == nil || p.Kind != v1alpha1.InputRetry || p.ID != "retry-1" || *p.Attempt != 2 || !p.AskTime.Equal(&failedAt) || p.ExpirationTime.Sub(failedAt.Time) != 1800*time.Second {
		t.Fatalf("pending %+v", p)
	}
	if res.RequeueAfter < 1799*time.Second || res.RequeueAfter > 1801*time.Second {
		t.Errorf("comes back after %s", res.RequeueAfter)
	}
	a := attemptAt(t, run, 1)
	want := v1alpha1.FailureSummary{
		Category: v1alpha1.CategoryToolFailure, Reason: "RepeatedToolFailure", Message: "It failed.", LastStepName: "run-a01-s0001", Retryable: true,
		SuggestedAction: v1alpha1.ActionRetryWithGuidance, Hint: "Use port 8080.",
	}
	if diff := cmp.Diff(want, *a.Failure); diff != "" || a.Iterations != 1 || a.Usage.TotalTokens != 130 {
		t.Errorf("%d iterations, usage %+v, failure (-want +got):\n%s", a.Iterations, a.Usage, diff)
	}
	uid := r.pod().UID

	// A person takes longer than the run may.
	r.now = r.now.Add(1000 * time.Second)
	r.retry(1, "Use port 9090.")
	r.step()
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered", "SandboxReady True SandboxReady")
	r.wantAttempts("First RepeatedToolFailure", "Retry")
	run = r.run()
	if c := attemptAt(t, run, 2).RecoveryContext; !strings.Contains(c, "Use port 9090.") || !strings.Contains(c, "The workspace is the same") || run.Status.Pending() != nil {
		t.Errorf("pending %v, the model is told %q", run.Status.Pending(), c)
	}
	if st := run.Status; st.Paused.DurationSeconds != 1000 && st.Paused.DurationSeconds != 1001 || st.Paused.StartTime != nil || r.pod().UID != uid || st.Sandbox.PodUID != string(uid) || st.Execution.Epoch != 1 {
		t.Errorf("paused %+v, sandbox %+v", st.Paused, st.Sandbox)
	}
	r.said(turnOf(2, 1, "done"))
	r.step()
	run = r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	stats := run.Status.Result.Stats
	if stats.Iterations != 2 || stats.Tokens != 250 || stats.WaitingMilliseconds < 1000_000 || stats.WaitingMilliseconds > 1001_000 || stats.OverheadMilliseconds > 10_000 {
		t.Errorf("stats %+v", stats)
	}
	wantEvents := []string{"Normal SandboxReady", "Warning AttemptFailed", "Normal AttemptStarted", "Normal Answered", "Normal Completed"}
	if diff := cmp.Diff(wantEvents, r.events[1:]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The controller's cache has only the beginnings of arguments and outputs. The next attempt is told their ends too, and which files were written.
func TestRetryIsToldOfWholeSteps(t *testing.T) {
	r := newRig(t)
	r.ready()
	wrote, tested := turnAt(1, "", `write:{"content":"`+strings.Repeat("x", 1000)+`","path":"parser/clock.go"}`), turnAt(2, "", `bash:{"command":"go test ./..."}`)
	wrote.Results[0] = okResult("written", 1)
	tested.Results[0] = &toolapi.Result{
		OK: true, Provenance: toolapi.ProvenanceInternal, Output: strings.Repeat("ok\n", 1000) + "FAIL: clock_test.go:41: want 11 got 23\nexit status 1",
	}
	r.said(wrote)
	r.said(tested)
	r.step()
	r.failed("Why")
	r.step()
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := c.List(ctx, list, opts...); err != nil {
				return err
			}
			if steps, ok := list.(*v1alpha1.MotorStepList); ok {
				cutToHeads(steps.Items)
			}
			return nil
		},
	})
	r.retry(1, "")
	r.step()
	c := attemptAt(t, r.run(), 2).RecoveryContext
	for _, want := range []string{"parser/clock.go", "want 11 got 23", "go test ./..."} {
		if !strings.Contains(c, want) {
			t.Errorf("the model is not told %q: %s", want, c)
		}
	}
}

// cutToHeads leaves of steps what the manager's cache keeps.
func cutToHeads(steps []v1alpha1.MotorStep) {
	const head = 200
	for i := range steps {
		for j := range steps[i].Spec.ToolCalls {
			c := &steps[i].Spec.ToolCalls[j]
			c.Arguments = fit.Cut(c.Arguments, head)
		}
		for j := range steps[i].Status.Results {
			o := &steps[i].Status.Results[j]
			o.Output = fit.Cut(o.Output, head)
		}
	}
}

func TestRetryIsNotMadeTwice(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.failed("Why")
	r.step()
	r.retry(1, "")
	// A pass whose reading of the run is old decides the same, and its write is refused.
	r.stale()
	old := r.rec.Client
	r.rec.Client = manager
	r.step()
	r.said(turnOf(2, 1, "", "bash:{}"))
	r.rec.Client = old
	if res := r.once(); res.RequeueAfter <= 0 || res.RequeueAfter > time.Second {
		t.Errorf("a conflict comes back after %s", res.RequeueAfter)
	}
	r.rec.Client = manager
	r.step()
	r.wantAttempts("First Why", "Retry")
}

func TestRetryWindowExpires(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Limits.RetryDeadlineSeconds = 60 })
	r.ready()
	r.failed("Why")
	r.step()
	expires := r.run().Status.Pending().ExpirationTime
	r.now = expires.Add(-time.Second)
	if res := r.step(); res.RequeueAfter < time.Second || res.RequeueAfter > time.Second+100*time.Millisecond {
		t.Errorf("comes back after %s, the window is over in 1 s", res.RequeueAfter)
	}
	r.want(v1alpha1.PhaseAwaitingInput, "Finished False Running")
	r.now = expires.Time
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "Why")
	if m := run.Status.Message; !strings.Contains(m, "It failed.") || !strings.Contains(m, "60 s (spec.limits.retryDeadlineSeconds)") {
		t.Errorf("message %q", m)
	}
	if a := attemptAt(t, run, 1); !a.CompletionTime.Before(run.Status.CompletionTime) {
		t.Errorf("the attempt ended at %s, the run at %s", a.CompletionTime, run.Status.CompletionTime)
	}
	if r.pod() != nil {
		t.Error("the sandbox is still there")
	}
}

func TestLastAttemptEndsTheRun(t *testing.T) {
	r := newRig(t, attempts(2))
	r.ready()
	r.failed("First", outcome.Outcome{Partial: "half"})
	r.step()
	r.retry(1, "")
	r.retry(2, "once more")
	r.step()
	r.want(v1alpha1.PhaseRunning, "ResponsesValid True AllAsked")
	r.failed("Second")
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "Second")
	r.wantAttempts("First First", "Retry Second")
	if run.Status.Result.Partial != "" {
		t.Errorf("the partial result of another attempt: %q", run.Status.Result.Partial)
	}
}

func TestOnlyAttemptEndsTheRun(t *testing.T) {
	r := newRig(t, attempts(1))
	r.ready()
	must(t, r.log().End(r.ctx, &outcome.Failure{Category: outcome.BudgetExhausted, Reason: "MaxIterations", Message: "All used.", Retryable: true},
		outcome.Outcome{Partial: "half of it"}))
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "MaxIterations")
	if run.Status.Result.Partial != "half of it" || run.Status.Result.Summary != "All used." {
		t.Errorf("result %+v", run.Status.Result)
	}
	if slices.Contains(r.events, "Warning AttemptFailed") || r.events[len(r.events)-1] != "Warning MaxIterations" {
		t.Errorf("events %v", r.events)
	}
}

func TestBudgetOfAnAttempt(t *testing.T) {
	r := newRig(t)
	r.ready()
	must(t, r.log().End(r.ctx, &outcome.Failure{Category: outcome.BudgetExhausted, Reason: "MaxIterations", Message: "All used."}, outcome.Outcome{}))
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True BudgetExhausted")
}

func TestRetriesGivenInAdvance(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) {
		run.Spec.Responses = []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry, Guidance: "again"}, {ID: "retry-2", Decision: v1alpha1.DecisionRetry}}
	})
	r.ready()
	r.failed("Why")
	r.step()
	r.wantAttempts("First Why", "Retry")
	must(t, admin.Delete(r.ctx, r.pod()))
	r.once()
	// Somebody asked for it: that counts, and its guidance.
	r.wantAttempts("First Why", "Retry SandboxLost", "Retry")
}

// A person can decide against another attempt: the run ends at once, and its end says so.
func TestAPersonStopsAfterAnAttempt(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.failed("Why")
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True AttemptFailed")
	must(t, jsonPatch(r.ctx, r.run(), `[{"op":"add","path":"/spec/responses/-","value":{"id":"retry-1","decision":"Stop"}}]`))
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "Why")
	r.wantAttempts("First Why")
	if !strings.Contains(run.Status.Result.Summary, "decided against another attempt.") {
		t.Errorf("the end says %q", run.Status.Result.Summary)
	}
}

// A decision about an attempt that the operator began by itself is ignored.
func TestRetryThatComesTooLate(t *testing.T) {
	r := newRig(t)
	r.ready()
	must(t, admin.Delete(r.ctx, r.pod()))
	r.settle()
	r.retry(1, "")
	r.retry(10, "")
	r.step()
	r.want(v1alpha1.PhaseCreated, "ResponsesValid False UnknownQuestion")
	r.wantAttempts("First SandboxLost", "Infrastructure")
}

func TestCancelWhileWaitingForARetry(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.failed("Why")
	r.step()
	r.patchSpec(`{"cancel":true}`)
	r.step()
	run := r.wantEnd(v1alpha1.PhaseCancelled, "Cancelled")
	r.wantAttempts("First Why")
	if run.Status.Result.OK || r.pod() != nil {
		t.Errorf("result %+v", run.Status.Result)
	}
}

// The failed attempt and the next one are written together, or neither is.
func TestNextAttemptIsOneWrite(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.failed("Why")
	r.step()
	r.retry(1, "")
	writes := 0
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	if _, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err != nil || writes != 1 {
		t.Errorf("%d writes (%v)", writes, err)
	}
	r.rec.Client = manager
	r.wantAttempts("First Why", "Retry")
}

// Ten attempts whose texts are as long and as costly as they can be.
func TestStatusOfManyAttemptsIsBounded(t *testing.T) {
	r := newRig(t, attempts(8), func(run *v1alpha1.MotorRun) { run.Spec.Limits.ActiveDeadlineSeconds = 86400 })
	hard := strings.Repeat("<\"\n\x01漢", 2000)
	size := func() {
		t.Helper()
		b, err := json.Marshal(r.run().Status)
		must(t, err)
		if len(b) > 32<<10 {
			t.Errorf("the status has %d bytes", len(b))
		}
	}
	r.ready()
	for attempt := int32(1); attempt <= 10; attempt++ {
		many := turnOf(attempt, 1, "", slices.Repeat([]string{strings.Repeat("t", 128) + ":{}"}, 5)...)
		for i := range many.Results {
			many.Results[i] = okResult(hard[:len(hard)/10], 1)
			many.Results[i].OK, many.Results[i].ErrorCode = false, strings.Repeat("e", 64)
		}
		r.said(many)
		if attempt <= 2 {
			must(t, admin.Delete(r.ctx, r.pod()))
			r.settle()
			r.play(running)
			r.step()
			size()
			continue
		}
		must(t, r.log().End(r.ctx, &outcome.Failure{Category: outcome.ToolFailure, Reason: "Why", Message: hard[:4000], Retryable: true},
			outcome.Outcome{Hint: strings.Repeat("<", 1024), Partial: hard}))
		r.settle()
		size()
		if attempt == 10 {
			break
		}
		r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True AttemptFailed")
		r.retry(int(attempt), strings.Repeat("<é", 2000)[:4000])
		r.step()
		size()
		if c := attemptAt(t, r.run(), attempt+1).RecoveryContext; len(c) < 2000 {
			t.Errorf("the model is told %q", c)
		}
	}
	run := r.wantEnd(v1alpha1.PhaseFailed, "Why")
	if n := len(run.Status.Attempts); n != 10 {
		t.Errorf("%d attempts", n)
	}
}
