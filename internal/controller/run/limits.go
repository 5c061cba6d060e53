// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

// limits refuses a run that asks for more than its namespace permits, or for something that this version cannot do. It makes no request. An accepted
// run stays accepted.
func (r *Reconciler) limits(_ context.Context, s *pass.Run) (bool, error) {
	if pass.IsAccepted(s.Run) {
		return true, nil
	}
	for _, refusal := range []*reach.Refusal{
		reach.RefuseStorageClass(s.Run, s.Classes), reach.RefuseAcceptance(s.Run), reach.RefuseDomains(s.Run, s.Bounds),
	} {
		if refusal != nil {
			refuse(s, refusal, true)
			return false, nil
		}
	}
	return true, nil
}
