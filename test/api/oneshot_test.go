// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// oneshot makes a run of code.
func oneshot(language, source string, timeoutMs int32) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		run.Spec = v1alpha1.MotorRunSpec{
			Mode: v1alpha1.ModeOneshot, Code: &v1alpha1.Code{Language: language, Source: source, TimeoutMilliseconds: timeoutMs}, MaxAttempts: 3,
			Limits: v1alpha1.RunLimits{ActiveDeadlineSeconds: 600},
		}
	}
}

// ran has the engine run the code, or begin with it if there is no result.
func (r *rig) ran(res *toolapi.Result) {
	r.t.Helper()
	attempts := r.run().Status.Attempts
	id := turn.CallID(attempts[len(attempts)-1].Index, 1, 0)
	r.said(&turn.Turn{
		Index: 1, Calls: []turn.Call{{ID: id, ModelID: id, Tool: toolapi.ToolOneshot, Arguments: `{"language":"javascript","source":"1","timeoutMs":5000}`}},
		Results: []*toolapi.Result{res},
	})
}

func TestOneshot(t *testing.T) {
	failed := func(code string) string { return `{"ok":false,"error":{"code":"` + code + `","message":"because"}}` }
	tests := map[string]struct {
		result        *toolapi.Result
		phase         v1alpha1.RunPhase
		reason, value string
		says          string
		errors        int32
	}{
		"a value": {
			result: okResult(`{"ok":true,"value":{"a":1},"console":"hi\n"}`, 7), phase: v1alpha1.PhaseCompleted, reason: "Completed",
			value: `{"ok":true,"value":{"a":1},"console":"hi\n"}`, says: "The code ended.",
		},
		"a big value": {
			result: okResult(`{"ok":true,"value":"`+strings.Repeat("v", 20_000)+`"}`, 7), phase: v1alpha1.PhaseCompleted, reason: "Completed",
			value: `{"ok":true,"value":"` + strings.Repeat("v", 20_000) + `"}`, says: "The code ended.",
		},
		"a value with its head only": {
			result: okResult(`{"ok":true,"head":"[1,","truncated":true}`, 7), phase: v1alpha1.PhaseCompleted, reason: "Completed",
			value: `{"ok":true,"head":"[1,","truncated":true}`, says: "Its value is longer than 32 KiB: head has its beginning, and so has the step ",
		},
		"an error": {
			result: &toolapi.Result{ErrorCode: "execution_error", Output: failed("EXECUTION_ERROR"), Provenance: toolapi.ProvenanceInternal, DurationMs: 7},
			phase:  v1alpha1.PhaseFailed, reason: "ExecutionError", value: failed("EXECUTION_ERROR"), says: "The code failed: because", errors: 1,
		},
		"a timeout": {
			result: &toolapi.Result{ErrorCode: "execution_timeout", Output: failed("EXECUTION_TIMEOUT"), Provenance: toolapi.ProvenanceInternal, DurationMs: 7},
			phase:  v1alpha1.PhaseFailed, reason: "ExecutionTimeout", value: failed("EXECUTION_TIMEOUT"), says: "The code did not end in its time", errors: 1,
		},
		"blocked": {
			result: &toolapi.Result{ErrorCode: "execution_blocked", Output: failed("EXECUTION_BLOCKED"), Provenance: toolapi.ProvenanceInternal, DurationMs: 7},
			phase:  v1alpha1.PhaseFailed, reason: "ExecutionBlocked", value: failed("EXECUTION_BLOCKED"), says: "The code asks for what no Oneshot run has", errors: 1,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, oneshot("javascript", "1", 0))
			// It needs none.
			r.rec.Models = cortex.Resolver{Cortex: manager, Secrets: manager}
			r.ready()
			r.want(v1alpha1.PhaseRunning, "Accepted True Accepted", "AwaitingInput False NothingAsked")
			if m := r.run().Status.Message; m != "Running the code." {
				t.Errorf("message %q", m)
			}
			r.ran(nil)
			r.step()
			r.want(v1alpha1.PhaseRunning, "AwaitingInput False NothingAsked")

			l := r.log()
			made := l.Turns()[0]
			made.Results[0] = tt.result
			must(t, l.Settle(r.ctx, made))
			r.now = r.now.Truncate(time.Second)
			r.step()
			run := r.wantEnd(tt.phase, tt.reason)
			res := run.Status.Result
			if res.Value != tt.value || !strings.Contains(res.Summary, tt.says) {
				t.Errorf("result %+v", res)
			}
			if res.Stats.ToolCalls != 1 || res.Stats.ToolMilliseconds != 7 || res.Stats.Errors != tt.errors || res.Stats.Tokens != 0 || run.Status.Model != "" {
				t.Errorf("stats %+v, model %q", res.Stats, run.Status.Model)
			}
			if n := len(run.Status.Attempts); n != 1 {
				t.Errorf("%d attempts", n)
			}
			if f := attemptAt(t, run, 1).Failure; f != nil && (f.Category != v1alpha1.CategoryToolFailure || f.Retryable || f.SuggestedAction != v1alpha1.ActionStop) {
				t.Errorf("failure %+v", f)
			}
			// It is gone soon.
			if wait := r.once().RequeueAfter.Round(time.Second); wait != 10*time.Minute {
				t.Errorf("looks again after %s", wait)
			}
			r.now = r.now.Add(10 * time.Minute)
			r.once()
			if !r.isGone() {
				t.Error("it is still there")
			}
		})
	}
}

// The operator makes the attempt again in another sandbox, and nobody is asked.
func TestOneshotThatLosesItsSandbox(t *testing.T) {
	r := newRig(t, oneshot("javascript", "1", 0))
	r.ready()
	r.ran(nil)
	r.step()
	must(t, admin.Delete(r.ctx, r.pod()))
	r.settle()
	r.wantAttempts("First SandboxLost", "Infrastructure")
	r.play(running)
	r.step()
	r.ran(okResult(`{"ok":true,"value":1}`, 7))
	r.step()
	if run := r.wantEnd(v1alpha1.PhaseCompleted, "Completed"); run.Status.Result.Value != `{"ok":true,"value":1}` {
		t.Errorf("result %+v", run.Status.Result)
	}
}

// When its attempts are used up it fails, and takes no retry.
func TestOneshotTakesNoRetry(t *testing.T) {
	r := newRig(t, oneshot("javascript", "1", 0))
	r.ready()
	r.retry(1, "again")
	r.step()
	r.failed("Why")
	r.step()
	r.wantEnd(v1alpha1.PhaseFailed, "Why")
	r.wantAttempts("First Why")
}

// Nobody's place is taken by it, and it waits for none.
func TestOneshotInABusyNamespace(t *testing.T) {
	for _, whenBusy := range []v1alpha1.WhenBusy{v1alpha1.BusyQueue, v1alpha1.BusyReject} {
		t.Run(string(whenBusy), func(t *testing.T) {
			r := newRig(t)
			must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: concurrency(1, whenBusy)}))
			r.ready()
			first := r.key
			for _, name := range []string{"once", "twice"} {
				r.create(admin, oneshot("python", "1", 0), func(run *v1alpha1.MotorRun) { run.Name = name })
				r.once()
				r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
			}
			r.key = first
			r.patchSpec(`{"cancel":true}`)
			r.once()
			r.create(admin, func(run *v1alpha1.MotorRun) { run.Name = "next" })
			r.once()
			r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
			must(t, client.IgnoreNotFound(admin.Get(r.ctx, first, &v1alpha1.MotorRun{})))
		})
	}
}
