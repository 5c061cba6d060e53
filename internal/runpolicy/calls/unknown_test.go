// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A call without a result may have been made, unless a person must approve it or one before it.
func TestUnknown(t *testing.T) {
	t.Parallel()
	step := func(asks []v1alpha1.StepAsk, results ...v1alpha1.ToolResult) *v1alpha1.MotorStep {
		s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{ToolCalls: []v1alpha1.ToolCall{
			{ID: "c0", Tool: toolapi.ToolBash, Arguments: "a"}, {ID: "c1", Tool: toolapi.ToolRead, Arguments: "b"}, {ID: "c2", Tool: toolapi.ToolBash, Arguments: "c"},
		}}}
		s.Status.Asks, s.Status.Results = asks, results
		return s
	}
	ref := func(id, arguments string, inFlight, brokenOff bool) Ref {
		return Ref{ID: id, Tool: toolapi.ToolBash, Arguments: arguments, InFlight: inFlight, BrokenOff: brokenOff}
	}
	made := v1alpha1.ToolResult{CallID: "c0", OK: true}
	for name, tt := range map[string]struct {
		step               *v1alpha1.MotorStep
		unknown, brokenOff []Ref
	}{
		"no results":   {step: step(nil), unknown: []Ref{ref("c0", "a", true, false), ref("c2", "c", true, false)}},
		"one result":   {step: step(nil, made), unknown: []Ref{ref("c2", "c", true, false)}},
		"not approved": {step: step([]v1alpha1.StepAsk{{Kind: v1alpha1.InputApproval, CallID: "c2", Execution: "c2"}}, made)},
		"its end was not seen": {
			step:    step(nil, v1alpha1.ToolResult{CallID: "c0", ErrorCode: toolapi.CodeOutcomeUnknown}, v1alpha1.ToolResult{CallID: "c2", OK: true}),
			unknown: []Ref{ref("c0", "a", false, false)},
		},
		"ended from outside": {
			step:      step(nil, made, v1alpha1.ToolResult{CallID: "c2", ErrorCode: toolapi.CodeKilled}),
			brokenOff: []Ref{ref("c2", "c", false, true)},
		},
	} {
		if d := cmp.Diff(tt.unknown, Unknown(tt.step)); d != "" {
			t.Errorf("%s: unknown: %s", name, d)
		}
		if d := cmp.Diff(tt.brokenOff, BrokenOff(tt.step)); d != "" {
			t.Errorf("%s: broken off: %s", name, d)
		}
	}
}
