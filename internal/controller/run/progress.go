// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"motorcortex.dev/motorcortex/internal/controller/isolation"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// progress writes the state according to the journal into the status.
func (r *Reconciler) progress(_ context.Context, s *pass.Run) (bool, error) {
	st, p := &s.Run.Status, s.Progress
	st.Steps, st.Usage = p.Turns, p.Usage
	st.Artifacts, _ = fit.ShowArtifacts(p.Artifacts)
	if p.ModelName != "" {
		st.Model = p.ModelName
	}
	showAttempt(s)
	isolation.Show(s)
	showResponses(s)
	return true, nil
}
