// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// observe reads the namespace's bounds, the journal and the Pod.
func (r *MotorRunReconciler) observe(ctx context.Context, s *scope) (bool, error) {
	cortex, err := r.cortex(ctx, r.Client, s.run.Namespace)
	if err != nil {
		return false, err
	}
	s.bounds = runpolicy.Bounds(cortex)
	if err := r.readJournal(ctx, r.Client, s); err != nil {
		return false, err
	}
	return true, r.observePod(ctx, s)
}

func (r *MotorRunReconciler) readJournal(ctx context.Context, reader client.Reader, s *scope) error {
	var steps v1alpha1.MotorStepList
	if err := reader.List(ctx, &steps, client.InNamespace(s.run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: s.run.Name}); err != nil {
		return fmt.Errorf("list steps: %w", err)
	}
	s.progress = runpolicy.ReadJournal(s.run, journal.Of(s.run, steps.Items))
	r.countGaps(s)
	return nil
}

func (r *MotorRunReconciler) observePod(ctx context.Context, s *scope) error {
	pod, err := getPod(ctx, r.Client, s.run)
	if err != nil {
		return err
	}
	known := s.run.Status.Sandbox
	if known != nil && !runpolicy.Replaced(known) && (pod == nil || string(pod.UID) != known.PodUID) {
		// The cache may be behind the create, and an attempt must not end because of that.
		if pod, err = getPod(ctx, r.Live, s.run); err != nil {
			return err
		}
		s.sandboxGone = pod == nil || string(pod.UID) != known.PodUID
	}
	switch {
	case pod == nil || !isOwn(pod, s.run):
		return nil
	case isFormer(pod, s.run):
		s.former = pod
		return nil
	case known == nil || runpolicy.Replaced(known):
		// It is about to be taken for the sandbox; until its UID is in the status, only its looks say that it is.
		want, err := r.buildPod(ctx, s.run)
		if err != nil || !sandbox.Same(pod, want) {
			return err
		}
	}
	s.take(pod)
	return nil
}

// take notes the Pod that is the run's sandbox.
func (s *scope) take(pod *corev1.Pod) {
	state := sandbox.Read(pod)
	s.pod, s.podState = pod, &state
}

// isFormer says whether the Pod is the one that an earlier attempt had, which must be gone before there is another one.
func isFormer(pod *corev1.Pod, run *v1alpha1.MotorRun) bool {
	known := run.Status.Sandbox
	return runpolicy.Replaced(known) && string(pod.UID) == known.PodUID
}

func getPod(ctx context.Context, reader client.Reader, run *v1alpha1.MotorRun) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := reader.Get(ctx, podKey(run), pod)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the sandbox Pod: %w", err)
	}
	return pod, nil
}
