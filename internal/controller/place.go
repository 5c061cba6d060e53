// SPDX-License-Identifier: Apache-2.0

package controller

import "context"

// place gives the run to a worker. Each time it goes to another one the epoch grows, so that the former one is
// refused by the sandbox.
func (r *MotorRunReconciler) place(_ context.Context, s *scope) (bool, error) {
	st := &s.run.Status
	if st.Worker != r.Config.Worker {
		st.Worker = r.Config.Worker
		st.Epoch++
	}
	return true, nil
}
