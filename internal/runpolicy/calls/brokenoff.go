// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// BrokenOff returns the calls of a step that were ended half way from outside: they have a result, and it does not show how far they came. A signal
// that ends a program often comes from the same shortage, or the same shutdown, that ends the sandbox.
func BrokenOff(s *v1alpha1.MotorStep) []Ref {
	var found []Ref
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		r := ResultOf(s, c.ID)
		if r == nil || r.ErrorCode != toolapi.CodeKilled && r.ErrorCode != toolapi.CodeCancelled || !toolapi.HasEffects(c.Tool) {
			continue
		}
		found = append(found, Ref{ID: c.ID, Tool: c.Tool, Arguments: fit.OneLine(c.Arguments, fit.MaxHead), BrokenOff: true})
	}
	return found
}
