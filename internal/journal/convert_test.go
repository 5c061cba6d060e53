// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// The loop knows the approvals of a manager of 0.1.0: it makes the call, or reads its result, and asks nothing.
func TestApprovalsOfAnEarlierManagerReachTheLoop(t *testing.T) {
	t.Parallel()
	s := &v1alpha1.MotorStep{}
	s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a0-s1-c0", Tool: "bash", Arguments: `{"command":"git push"}`}}
	s.Status.Approvals = []v1alpha1.StepApproval{{Execution: "a0-s1-c0", CallID: "a0-s1-c0", Outcome: "Approved", By: "anna"}}
	asks := turnOf(s).Asks
	if len(asks) != 1 || asks[0].Kind != motorloop.AskApproval || asks[0].Outcome != motorloop.AskApproved || asks[0].By != "anna" {
		t.Errorf("the loop knows of %+v", asks)
	}
}
