// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// codeEnded reports whether the code of a Oneshot run has a result.
func codeEnded(steps []v1alpha1.MotorStep) bool {
	return len(steps) == 1 && steps[0].Status.Phase == v1alpha1.StepSettled
}

// came waits for what the one call of the run came to, as the status of the run will show it.
func (r *engineRig) came() (p runpolicy.Progress, step v1alpha1.MotorStep) {
	r.t.Helper()
	steps := r.steps(codeEnded)
	if asked := r.model.asked.Load() + r.model.asides.Load(); asked > 0 {
		r.t.Errorf("a model was asked %d times", asked)
	}
	return runpolicy.ReadJournal(r.run, steps), steps[0]
}

// timeless is the value of a Oneshot run without the time that it took.
func timeless(value string) string {
	return regexp.MustCompile(`,"durationMs":[0-9]+`).ReplaceAllString(value, "")
}

func TestEngineRunsCode(t *testing.T) {
	endless := "const end = Date.now() + 60_000; while (Date.now() < end) {}"
	tests := map[string]struct {
		code v1alpha1.Code
		// value is all of the value, or without it says is a part of it.
		value, says string
		reason      string
	}{
		"javascript": {
			code:  v1alpha1.Code{Language: "javascript", Source: "console.log('hi')\nconst a = [1, 2, 3];\n({sum: a.reduce((x, y) => x + y)})"},
			value: `{"ok":true,"value":{"sum":6},"console":"hi\n"}`,
		},
		"python": {
			code:  v1alpha1.Code{Language: "python", Source: "print('hi')\nx = [n * n for n in range(4)]\n{'squares': x}"},
			value: `{"ok":true,"value":{"squares":[0,1,4,9]},"console":"hi\n"}`,
		},
		"an error": {
			code: v1alpha1.Code{Language: "python", Source: "1 / 0"}, says: "division by zero", reason: v1alpha1.ReasonExecutionError,
		},
		"no program": {
			code: v1alpha1.Code{Language: "javascript", Source: "const = 1"}, says: "SyntaxError", reason: v1alpha1.ReasonExecutionError,
		},
		"a timeout": {
			code: v1alpha1.Code{Language: "javascript", Source: endless, TimeoutMilliseconds: 100}, says: `"code":"EXECUTION_TIMEOUT"`, reason: v1alpha1.ReasonExecutionTimeout,
		},
		"blocked": {
			code:   v1alpha1.Code{Language: "javascript", Source: "\nrequire('child_process').execSync('id')"},
			value:  `{"ok":false,"error":{"code":"EXECUTION_BLOCKED","message":"line 2: require \"child_process\" starts, ends or changes processes, which the code of a Oneshot run may not do"}}`,
			reason: v1alpha1.ReasonExecutionBlocked,
		},
		"32 KiB with all around it": {
			code: v1alpha1.Code{Language: "javascript", Source: "return 'v'.repeat(32_700)"}, value: `{"ok":true,"value":"` + strings.Repeat("v", 32_700) + `"}`,
		},
		"returned": {
			code: v1alpha1.Code{Language: "javascript", Source: "const p=10000, r=0.05, n=10; return p * Math.pow(1+r, n);"}, value: `{"ok":true,"value":16288.946267774423}`,
		},
		"no JSON": {
			code: v1alpha1.Code{Language: "javascript", Source: "const a = {}; a.a = a; a"}, says: "the value is none that JSON has", reason: v1alpha1.ReasonExecutionError,
		},
		"more than a step has": {
			code: v1alpha1.Code{Language: "javascript", Source: "console.log('<'.repeat(1e6)); 'v'.repeat(1e6)"}, says: `"truncated":true`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newLoneEngineRig(t, &stubModel{}, oneshot(tt.code.Language, tt.code.Source, tt.code.TimeoutMilliseconds))
			r.startEngine("worker-1", nil)
			p, step := r.came()
			if tt.value != "" && timeless(p.Value) != tt.value || !strings.Contains(p.Value, tt.says) {
				t.Errorf("value %s\nwant  %s%s", p.Value, tt.value, tt.says)
			}
			got := ""
			if p.Failure != nil {
				got = p.Failure.Reason
			}
			if got != tt.reason || (p.Final != nil) != (tt.reason == "") {
				t.Errorf("reason %q, final %v", got, p.Final)
			}
			blocked := tt.reason == v1alpha1.ReasonExecutionBlocked
			if proved := step.Spec.Sandbox != nil && step.Spec.Sandbox.IsolationTries >= 3; proved == blocked {
				t.Errorf("the step names the sandbox %+v", step.Spec.Sandbox)
			}
			if c := step.Spec.ToolCalls; len(c) != 1 || c[0].ID != "a1-s1-c0" || step.Spec.Tools != "oneshot" || step.Spec.Model != "" {
				t.Errorf("the step is %+v", step.Spec)
			}
		})
	}
}

// Wherever the holder of the run is killed, the next one gives the result of the first, or runs the code.
func TestEngineKilledWhileItRunsCode(t *testing.T) {
	for _, point := range []attempt.FaultPoint{attempt.BeforeIntent, attempt.AfterIntent, attempt.AfterDispatch, attempt.AfterResult, attempt.AfterSettle} {
		t.Run(string(point), func(t *testing.T) {
			r := newLoneEngineRig(t, &stubModel{}, oneshot("python", "import time\ntime.sleep(0.2)\n6 * 7", 0))
			r.await(r.startDoomed("worker-1", point, 1))
			r.giveTo("worker-2", 2)
			r.startEngine("worker-2", nil)
			p, step := r.came()
			if diff := cmp.Diff(`{"ok":true,"value":42}`, timeless(p.Value)); diff != "" || len(step.Status.Unknown) > 0 {
				t.Errorf("unknown %+v; the value (-want +got):\n%s", step.Status.Unknown, diff)
			}
			epoch := int64(1)
			if point == attempt.BeforeIntent {
				epoch = 2
			}
			if step.Spec.Epoch != epoch {
				t.Errorf("the step is of epoch %d", step.Spec.Epoch)
			}
		})
	}
}

// A tool server that ended with the code in it runs the code again: it has done nothing that lasts.
func TestEngineRunsCodeAgain(t *testing.T) {
	r := newEngineRig(t, &stubModel{}, oneshot("javascript", "const end = Date.now() + 1000; while (Date.now() < end) {}; 42", 0))
	dispatched := make(chan struct{})
	r.startEngineWith("worker-1", func(e *engine.Engine) {
		var once sync.Once
		e.Config.Fault = func(_ context.Context, p attempt.FaultPoint, _ *v1alpha1.MotorRun, _ int32) {
			if p == attempt.AfterDispatch {
				once.Do(func() { close(dispatched) })
			}
		}
	})
	r.await(dispatched)
	r.killSandbox()
	r.restartSandbox()
	p, step := r.came()
	unknown := step.Status.Unknown
	if len(unknown) != 1 || unknown[0].Policy != "Redo" || timeless(p.Value) != `{"ok":true,"value":42}` || len(p.Asked) > 0 {
		t.Errorf("value %s, unknown %+v", p.Value, unknown)
	}
}

// Code with a network may have done something before nobody saw it end: it is not run again.
func TestEngineRunsCodeWithANetworkOnce(t *testing.T) {
	const source = "require('node:https'); const end = Date.now() + 1000; while (Date.now() < end) {}; return 42"
	r := newEngineRig(t, &stubModel{}, oneshot("javascript", source, 30_000), mayReach("example.org"))
	proxy := newStubProxy(r)
	r.writeGrant(r.grantOf(1))
	r.showEgress(proxy.address, 1, "example.org")
	dispatched := make(chan struct{})
	r.startEgressEngine("worker-1", func(e *engine.Engine) {
		var once sync.Once
		e.Config.Fault = func(_ context.Context, p attempt.FaultPoint, _ *v1alpha1.MotorRun, _ int32) {
			if p == attempt.AfterDispatch {
				once.Do(func() { close(dispatched) })
			}
		}
	})
	r.await(dispatched)
	r.killSandbox()
	r.restartSandbox()
	p, step := r.came()
	unknown := step.Status.Unknown
	if len(unknown) != 1 || unknown[0].Policy != "Model" || p.Failure == nil || p.Failure.Reason != v1alpha1.ReasonExecutionError || len(p.Asked) > 0 {
		t.Errorf("value %s, unknown %+v, failure %+v", p.Value, unknown, p.Failure)
	}
}

// A sandbox that is not closed runs nothing, and the run fails as any other does.
func TestEngineRunsNoCodeInAnOpenSandbox(t *testing.T) {
	r := newEngineRig(t, &stubModel{}, oneshot("python", "1", 0))
	r.forbidden[0].Address = fmt.Sprintf("%s:%d", r.ip, 8443)
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	if o := steps[0].Spec.Outcome; len(steps) != 1 || o == nil || o.Reason != "IsolationUnverified" {
		t.Errorf("the journal is %+v", steps)
	}
}
