// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestHasWeb(t *testing.T) {
	t.Parallel()
	step := func(from ...toolapi.Provenance) v1alpha1.MotorStep {
		var s v1alpha1.MotorStep
		for _, p := range from {
			s.Status.Results = append(s.Status.Results, v1alpha1.ToolResult{Provenance: string(p)})
		}
		return s
	}
	for name, tt := range map[string]struct {
		steps []v1alpha1.MotorStep
		want  bool
	}{
		"no steps":           {nil, false},
		"the sandbox's":      {[]v1alpha1.MotorStep{step(toolapi.ProvenanceInternal, toolapi.ProvenanceUser)}, false},
		"a step with a page": {[]v1alpha1.MotorStep{step(), step(toolapi.ProvenanceInternal, toolapi.ProvenanceWeb)}, true},
	} {
		if got := HasWeb(tt.steps); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
