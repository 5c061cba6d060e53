// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// HasWeb reports whether a result of the steps has content from the web.
func HasWeb(steps []v1alpha1.MotorStep) bool {
	return slices.ContainsFunc(steps, func(s v1alpha1.MotorStep) bool {
		return slices.ContainsFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.Provenance == string(toolapi.ProvenanceWeb) })
	})
}
