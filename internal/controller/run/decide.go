// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/isolation"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// decide writes the state according to the journal into the status, and decides whether the run or its attempt is over.
//
// The cache may lack the step that ends the attempt in its own way. And it has only the heads of steps. Whole steps are needed for whether an end
// was accepted, whether a call may be made again, and the next attempt's text about this one. So an irreversible decision is made again from the
// journal as the API server has it.
func (r *Reconciler) decide(ctx context.Context, s *pass.Run) (bool, error) {
	s.Decision = runpolicy.Decide(r.observation(s), s.Now)
	if s.Progress.Final == nil && (isTurningPoint(s.Run, s.Decision) || runpolicy.EndsWell(s.Run.Status.Ending)) {
		if err := r.readJournal(ctx, r.Live, s); err != nil {
			return false, err
		}
		s.Decision = runpolicy.Decide(r.observation(s), s.Now)
	}
	showProgress(s)
	return true, nil
}

// isTurningPoint reports whether the decision is irreversible.
func isTurningPoint(run *v1alpha1.MotorRun, d runpolicy.Decision) bool {
	return d.End != nil || d.Next != nil || d.Failure != nil && run.Status.LatestAttempt().Failure == nil
}

func (r *Reconciler) observation(s *pass.Run) runpolicy.Observation {
	o := runpolicy.Observation{
		Run: s.Run, Progress: s.Progress, Sandbox: s.PodState, SandboxGone: s.SandboxGone,
		SandboxStartTimeout: r.Config.SandboxStartTimeout, Observed: s.Observed,
	}
	if s.Pod != nil {
		o.SandboxSince = sandbox.Since(s.Pod)
	}
	return o
}

// showProgress writes the state according to the journal into the status.
func showProgress(s *pass.Run) {
	st, p := &s.Run.Status, s.Progress
	st.Steps, st.Usage = p.Turns, p.Usage
	st.Artifacts, _ = fit.ShowArtifacts(p.Artifacts)
	if p.ModelName != "" {
		st.Model = p.ModelName
	}
	showAttempt(s)
	isolation.Show(s)
	showResponses(s)
}
