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
	answered := func(from toolapi.Provenance) v1alpha1.MotorStep {
		s := step(toolapi.ProvenanceUser)
		s.Status.Asks = []v1alpha1.StepAsk{{Files: []v1alpha1.AskFile{{Path: "a"}, {Path: "b", Provenance: string(from)}}}}
		return s
	}
	for name, tt := range map[string]struct {
		steps []v1alpha1.MotorStep
		want  bool
	}{
		"no steps":                              {nil, false},
		"the sandbox's":                         {[]v1alpha1.MotorStep{step(toolapi.ProvenanceInternal, toolapi.ProvenanceUser)}, false},
		"a person's file":                       {[]v1alpha1.MotorStep{answered(toolapi.ProvenanceInternal)}, false},
		"a page of another run, with an answer": {[]v1alpha1.MotorStep{answered(toolapi.ProvenanceWeb), step()}, true},
		"a step with a page":                    {[]v1alpha1.MotorStep{step(), step(toolapi.ProvenanceInternal, toolapi.ProvenanceWeb)}, true},
	} {
		if got := HasWeb(tt.steps); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
