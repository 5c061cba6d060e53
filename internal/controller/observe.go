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
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// observe reads the namespace's bounds, the journal and the Pod.
func (r *MotorRunReconciler) observe(ctx context.Context, s *scope) (bool, error) {
	cortex, err := r.cortex(ctx, r.Client, s.run.Namespace)
	if err != nil {
		return false, err
	}
	s.bounds, s.classes = runpolicy.Bounds(cortex), runpolicy.StorageClasses(cortex)
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
	s.orphans = countOrphans(steps.Items)
	s.progress = runpolicy.ReadJournal(s.run, journal.Of(s.run, steps.Items))
	r.countGaps(s)
	return nil
}

func (r *MotorRunReconciler) observePod(ctx context.Context, s *scope) error {
	// The names of Pods go by the attempt, which the journal may know alone.
	s.run.Status.Attempts = runpolicy.AttemptsOf(&s.run.Status, s.progress, s.now)
	name, known := sandbox.CurrentPodName(s.run), s.run.Status.Sandbox
	pods, err := r.podsOf(ctx, s.run)
	if err != nil {
		return err
	}
	if n := len(pods); known == nil && n > 0 {
		// The status was lost, and the workspace need not be.
		name = pods[n-1].Name
	}
	var pod *corev1.Pod
	pod, s.former = split(pods, sandbox.PodNames(s.run), name)
	if known != nil && !runpolicy.Replaced(known) && (pod == nil || string(pod.UID) != known.PodUID) {
		// The cache may be behind the create, and an attempt must not end because of that.
		if pod, err = getPod(ctx, r.Live, s.run, name); err != nil {
			return err
		}
		s.sandboxGone = pod == nil || string(pod.UID) != known.PodUID
	}
	switch {
	case pod == nil || !objects.OwnedByRun(pod, s.run):
		return nil
	case known == nil || runpolicy.Replaced(known):
		// It is about to be taken for the sandbox; until its UID is in the status, only its looks say that it is.
		want, err := r.buildPod(ctx, s.run)
		if err != nil || !sandbox.Same(pod, want) {
			return err
		}
	}
	takePod(s, pod)
	return r.observeClaim(ctx, s)
}

// observeClaim reads why a sandbox that does not start waits for the volume of its workspace. It reads past the cache, which has no claim
// without the labels of a sandbox's.
func (r *MotorRunReconciler) observeClaim(ctx context.Context, s *scope) error {
	name := sandbox.ClaimName(s.pod)
	if name == "" || !sandbox.MayWaitForClaim(*s.podState) {
		return nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.pod.Namespace, Name: name}, claim)
	if apierrors.IsNotFound(err) {
		// The watch tells when it is made.
		*s.podState = sandbox.WithoutClaim(s.pod)
		return nil
	}
	if err != nil {
		return fmt.Errorf("get the claim of the workspace: %w", err)
	}
	*s.podState = sandbox.ReadClaim(*s.podState, s.pod, claim)
	return nil
}
