// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// copied prevents a run from beginning that was created as a copy of another one. A copy has no status: the task may have been carried out long
// ago, and its effects outside of the sandbox would be repeated. Its own time stands still.
func (r *Reconciler) copied(_ context.Context, s *pass.Run) (bool, error) {
	if !runpolicy.IsCopy(s.Run) {
		return true, nil
	}
	s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonCopiedRun, fmt.Sprintf(
		"This run was created from a copy of another one, of a backup or of what the API server showed, which may have been carried out already. "+
			"To have it carried out now, with your rights: kubectl -n %s patch motorrun %s --type=merge -p '{\"spec\":{\"origin\":\"Released\"}}'. "+
			"To write a run after another one's example, leave out spec.origin. Otherwise delete it.", s.Run.Namespace, s.Run.Name), true)
	return false, nil
}
