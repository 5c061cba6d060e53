// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// cleanUp leaves a finished run as it is: its result is never decided again, and a sandbox of it that still exists is deleted at the end of the
// pass.
func (r *Reconciler) cleanUp(ctx context.Context, s *pass.Run) (bool, error) {
	if !pass.IsFinished(s.Run) {
		return true, nil
	}
	pods, err := r.podsOf(ctx, s.Run)
	if len(pods) == 0 {
		// The cache shows the end, so nothing was written that it could lack.
		r.writes.Forget(s.Run)
	}
	s.Former = pods
	return false, err
}

// tearDown removes the run's objects from the cluster. The grant is removed before the Pod, whose address may be another Pod's a moment later.
func (r *Reconciler) tearDown(ctx context.Context, s *pass.Run) error {
	pods := s.Former
	if s.Pod != nil {
		pods = append(pods, s.Pod)
	}
	if err := r.closeEgress(ctx, s.Run, len(pods) > 0 || !pass.IsFinished(s.Before)); err != nil {
		return err
	}
	return r.deletePods(ctx, s.Run, pods)
}

// closeEgress removes everything that let the sandbox of a run out. The sweep deletes what it misses.
func (r *Reconciler) closeEgress(ctx context.Context, run *v1alpha1.MotorRun, last bool) error {
	if last {
		if err := r.grants().Close(ctx, run); err != nil {
			return err
		}
	}
	if err := r.policies().CloseRoute(ctx, run); err != nil {
		return err
	}
	r.grants().Forget(run)
	r.policies().Forget(run)
	r.counts.Forget(run.UID)
	r.confirmed.Forget(run.UID)
	return nil
}

// closeGone removes the remainder of the runs of a name that were deleted without a last pass.
func (r *Reconciler) closeGone(ctx context.Context, key client.ObjectKey) error {
	if err := r.grants().CloseGone(ctx, key); err != nil {
		return err
	}
	r.policies().ForgetGone(key)
	r.counts.ForgetGone(key)
	r.writes.ForgetGone(key)
	r.confirmed.ForgetGone(key)
	return nil
}

// abandon removes the sandbox of a run that is being deleted. Pod and steps are owned by the run and deleted with it. But a foreign finalizer can
// delay that, and the sandbox would run for as long.
func (r *Reconciler) abandon(ctx context.Context, run *v1alpha1.MotorRun) error {
	if err := r.closeEgress(ctx, run, true); err != nil {
		return err
	}
	pods, err := r.podsOf(ctx, run)
	if err != nil {
		return err
	}
	return r.deletePods(ctx, run, pods)
}
