// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// cleanUp keeps a finished run as it is: what it came to is never decided again, and a sandbox of it that it finds goes
// at the end of the pass.
func (r *Reconciler) cleanUp(ctx context.Context, s *pass.Run) (bool, error) {
	if !pass.IsFinished(s.Run) {
		return true, nil
	}
	pods, err := r.podsOf(ctx, s.Run)
	s.Former = pods
	return false, err
}

// tearDown takes away what the run had in the cluster. The grant goes before the Pod, whose address may be another Pod's
// a moment later.
func (r *Reconciler) tearDown(ctx context.Context, s *pass.Run) error {
	pods := s.Former
	if s.Pod != nil {
		pods = append(pods, s.Pod)
	}
	if err := r.closeEgress(ctx, s.Run, len(pods) > 0 || !pass.IsFinished(s.Before)); err != nil {
		return err
	}
	if err := r.deletePods(ctx, pods); err != nil {
		return err
	}
	return r.letGo(ctx, s)
}

// closeEgress takes everything away that let the sandbox of a run out. What it may leave behind, the sweep takes.
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
	return nil
}

// closeGone takes away what is left of the runs of a name that went without a last pass.
func (r *Reconciler) closeGone(ctx context.Context, key client.ObjectKey) error {
	if err := r.grants().CloseGone(ctx, key); err != nil {
		return err
	}
	r.policies().ForgetGone(key)
	r.counts.ForgetGone(key)
	return nil
}

// abandon removes the sandbox of a run that is being deleted. Pod and steps are owned by the run and go with it, but a
// finalizer of somebody else's can hold it back, and nobody would end its sandbox for as long.
func (r *Reconciler) abandon(ctx context.Context, run *v1alpha1.MotorRun) error {
	if err := r.closeEgress(ctx, run, true); err != nil {
		return err
	}
	pods, err := r.podsOf(ctx, run)
	if err != nil {
		return err
	}
	return r.deletePods(ctx, pods)
}
