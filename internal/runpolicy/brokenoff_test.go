// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// endedWith adds a call whose result has the code.
func endedWith(tool, code string) stepOption {
	return func(s *v1alpha1.MotorStep) {
		done(tool, false, 5, "[killed]")(s)
		s.Status.Results[len(s.Status.Results)-1].ErrorCode = code
	}
}

// A lost sandbox takes along the unfinished effects of its last calls. A call that was broken off half way has effects that no model knows of. An
// attempt that the operator makes without a person would bring them about again.
func TestACallThatWasBrokenOffHoldsTheNextAttemptBack(t *testing.T) {
	t.Parallel()
	deploy := endedWith("bash", toolapi.CodeKilled)
	tests := map[string]struct {
		steps []v1alpha1.MotorStep
		tell  bool
		waits bool
	}{
		"killed with the sandbox":                {steps: []v1alpha1.MotorStep{testStep(1, 1, deploy)}, waits: true},
		"cancelled for a hole in the walls":      {steps: []v1alpha1.MotorStep{testStep(1, 1, endedWith("bash", toolapi.CodeCancelled))}, waits: true},
		"a request":                              {steps: []v1alpha1.MotorStep{testStep(1, 1, endedWith("fetch", toolapi.CodeKilled))}, waits: true},
		"a call of an MCP server":                {steps: []v1alpha1.MotorStep{testStep(1, 1, endedWith("mcp__git__push", toolapi.CodeKilled))}, waits: true},
		"it only read":                           {steps: []v1alpha1.MotorStep{testStep(1, 1, endedWith("read", toolapi.CodeKilled))}},
		"it failed by itself":                    {steps: []v1alpha1.MotorStep{testStep(1, 1, endedWith("bash", "exit_1"))}},
		"the model has read of it and gone on":   {steps: []v1alpha1.MotorStep{testStep(1, 1, deploy), testStep(1, 2, done("bash", true, 5, ""))}},
		"it is for the model to deal with it":    {steps: []v1alpha1.MotorStep{testStep(1, 1, deploy)}, tell: true},
		"an attempt before this one had one too": {steps: []v1alpha1.MotorStep{testStep(1, 1, deploy), testStep(2, 1, done("bash", true, 5, ""))}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := attemptRun(first)
			if tt.tell {
				run.Spec.Approval = &v1alpha1.RunApproval{OnUnknown: v1alpha1.UnknownTellModel}
			}
			if last := tt.steps[len(tt.steps)-1].Spec.Attempt; last > 1 {
				run = attemptRun(first, retry)
			}
			o := Observation{Run: run, Sandbox: endedPod, SandboxStartTimeout: time.Hour, Progress: ReadJournal(run, tt.steps)}
			d := Decide(o, after(20*sec))
			if tt.waits != (d.Retry != nil) || tt.waits == (d.Next != nil) {
				t.Errorf("retry %v, next %v", d.Retry, d.Next)
			}
		})
	}
}
