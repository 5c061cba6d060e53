// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// observe reads the namespace's bounds, the journal and the Pod.
func (r *Reconciler) observe(ctx context.Context, s *pass.Run) (bool, error) {
	c, err := cortex.Get(ctx, r.Client, s.Run.Namespace)
	if err != nil {
		return false, err
	}
	s.Bounds, s.Classes = reach.Bounds(c), reach.StorageClasses(c)
	if c.Spec.Sandbox != nil {
		s.Pools = c.Spec.Sandbox.Pools
	}
	if err := r.readJournal(ctx, r.Client, s); err != nil {
		return false, err
	}
	return true, r.observePod(ctx, s)
}

func (r *Reconciler) readJournal(ctx context.Context, reader client.Reader, s *pass.Run) error {
	var steps v1alpha1.MotorStepList
	if err := reader.List(ctx, &steps, client.InNamespace(s.Run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: s.Run.Name}); err != nil {
		return fmt.Errorf("list steps: %w", err)
	}
	s.Orphans = countOrphans(steps.Items)
	s.Progress = runpolicy.ReadJournal(s.Run, journal.Of(s.Run, steps.Items))
	// The journal may know an attempt that the status does not, and the names of Pods go by it.
	s.Run.Status.Attempts = runpolicy.AttemptsOf(&s.Run.Status, s.Progress, s.Now)
	r.countGaps(s)
	return nil
}

func (r *Reconciler) observePod(ctx context.Context, s *pass.Run) error {
	name, known := sandbox.CurrentPodName(s.Run), s.Run.Status.Sandbox
	pods, err := r.podsOf(ctx, s.Run)
	if err != nil {
		return err
	}
	if known == nil || runpolicy.Replaced(known) {
		if p := unnamed(pods, s.Run); p != nil {
			name = p.Name
		}
	}
	var pod *corev1.Pod
	pod, s.Former, s.Strays = split(pods, s.Run, name)
	if known != nil && !runpolicy.Replaced(known) && (pod == nil || string(pod.UID) != known.PodUID) {
		// The cache may be behind the create, and an attempt must not end because of that.
		if pod, err = getPod(ctx, r.Live, s.Run, name); err != nil {
			return err
		}
		s.SandboxGone = pod == nil || string(pod.UID) != known.PodUID || !objects.OwnedByRun(pod, s.Run)
	}
	switch {
	case pod == nil || !objects.OwnedByRun(pod, s.Run):
		return nil
	case known == nil || runpolicy.Replaced(known):
		// It is about to become the sandbox; until its UID is in the status, only its content shows that it is.
		want, err := r.buildPod(ctx, s.Run)
		if err != nil || !sandbox.Same(pod, want) {
			return err
		}
	}
	takePod(s, pod)
	return r.observeClaim(ctx, s)
}

// observeClaim reads why a sandbox that does not start waits for the volume of its workspace. It reads past the cache, which has no claim
// without the labels of a sandbox's.
func (r *Reconciler) observeClaim(ctx context.Context, s *pass.Run) error {
	name := sandbox.ClaimName(s.Pod)
	if name == "" || !sandbox.MayWaitForClaim(*s.PodState) {
		return nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.Pod.Namespace, Name: name}, claim)
	if apierrors.IsNotFound(err) {
		// The watch reports when it is made.
		*s.PodState = sandbox.WithoutClaim(s.Pod)
		return nil
	}
	if err != nil {
		return fmt.Errorf("get the claim of the workspace: %w", err)
	}
	*s.PodState = sandbox.ReadClaim(*s.PodState, s.Pod, claim)
	return nil
}
