// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The condition and the Event name the author and the decision of the last answer.
func TestAnsweredMessage(t *testing.T) {
	t.Parallel()
	first := v1alpha1.Response{ID: "a1-s1-c0", Answer: "yes", RespondedBy: "first@example.org"}
	for name, tt := range map[string]struct {
		responses []v1alpha1.Response
		want      string
	}{
		"nobody":      {nil, "Every question was answered."},
		"an answer":   {[]v1alpha1.Response{first}, "Every question was answered, the last one by first@example.org."},
		"of nobody":   {[]v1alpha1.Response{first, {ID: "b", Answer: "no"}}, "Every question was answered."},
		"a domain":    {[]v1alpha1.Response{first, {ID: "b", Decision: v1alpha1.DecisionAllowOnce, RespondedBy: "bob"}}, "Every question was answered, the last one with AllowOnce, by bob."},
		"an approval": {[]v1alpha1.Response{first, {ID: "b", Decision: v1alpha1.DecisionDeny, RespondedBy: "bob"}}, "Every question was answered, the last one with Deny, by bob."},
	} {
		run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Responses: tt.responses}}
		if got := answeredMessage(run); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
