// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// HasWeb reports whether a result of the steps, or a file of an answer in them, has content from the web.
func HasWeb(steps []v1alpha1.MotorStep) bool {
	return slices.ContainsFunc(steps, func(s v1alpha1.MotorStep) bool {
		return slices.ContainsFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.Provenance == string(toolapi.ProvenanceWeb) }) ||
			slices.ContainsFunc(s.Status.Asks, hasWebFile)
	})
}

func hasWebFile(a v1alpha1.StepAsk) bool {
	return slices.ContainsFunc(a.Files, func(f v1alpha1.AskFile) bool { return f.Provenance == string(toolapi.ProvenanceWeb) })
}
