// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/controller/pool"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// sandbox creates the run's Pod and waits until it runs. Pods of earlier attempts are deleted before, and not waited for: a node that is down keeps
// its Pods. A program in such a Pod has no way out any more: the step before withdrew the grant that named the Pod.
func (r *Reconciler) sandbox(ctx context.Context, s *pass.Run) (bool, error) {
	if err := r.deletePods(ctx, s.Run, s.Former); err != nil {
		return false, err
	}
	if err := r.deleteStrays(ctx, s); err != nil {
		return false, err
	}
	if s.Pod == nil && !standsStill(s.Run) {
		if has, err := r.placer().GiveSlot(ctx, s); err != nil || !has {
			return false, err
		}
		if err := r.createPod(ctx, s); err != nil {
			return false, err
		}
	}
	if s.Pod == nil {
		showMissingPod(s)
		return false, nil
	}
	if s.PodState.Phase == sandbox.Ended {
		// A run that waits for a person, or is suspended, gets another one when it goes on.
		s.Block(v1alpha1.ConditionSandboxReady, s.PodState.Reason, s.PodState.Message, false)
		return false, nil
	}
	st := &s.Run.Status
	var lost *metav1.Time
	if s.HasSandbox() {
		lost = st.Sandbox.IsolationLossTime
	}
	st.Sandbox = &v1alpha1.SandboxStatus{
		PodName: s.Pod.Name, PodUID: string(s.Pod.UID), PodIP: s.Pod.Status.PodIP, PoolName: sandbox.PoolName(s.Pod),
		NodeName: s.Pod.Spec.NodeName, NodeIP: s.Pod.Status.HostIP, CreationTime: s.Pod.CreationTimestamp.DeepCopy(),
		IsolationLossTime: lost,
	}
	showUserNamespace(s)
	if s.PodState.Phase != sandbox.Running {
		passes := slices.Contains([]string{v1alpha1.ReasonSandboxStarting, v1alpha1.ReasonSandboxRestarting, v1alpha1.ReasonWorkspacePending}, s.PodState.Reason)
		s.Block(v1alpha1.ConditionSandboxReady, s.PodState.Reason, s.PodState.Message, !passes)
		return false, nil
	}
	s.Set(v1alpha1.ConditionSandboxReady, metav1.ConditionTrue, v1alpha1.ReasonSandboxReady, s.PodState.Message)
	return true, nil
}

// standsStill reports whether the run needs no sandbox that it does not have.
func standsStill(run *v1alpha1.MotorRun) bool {
	p := run.Status.Pending()
	return run.Spec.Suspend || p != nil && p.Kind == v1alpha1.InputRetry
}

// showMissingPod shows that a run which stands still has lost its Pod.
func showMissingPod(s *pass.Run) {
	if s.SandboxGone {
		s.Block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxLost,
			"The sandbox Pod is gone, and its workspace with it. Another one is made when the run goes on.", false)
	}
}

// takePooled takes a Pod from the pools of the namespace. It returns nil if they have none that equals the wanted one.
func (r *Reconciler) takePooled(ctx context.Context, s *pass.Run, want *corev1.Pod) (*corev1.Pod, error) {
	if r.Pools == nil || len(s.Pools) == 0 {
		return nil, nil
	}
	pod, err := r.Pools.Take(ctx, pool.Wanted{
		Run: s.Run, Pools: s.Pools, Pod: want, Baseline: r.policies().BaselineIdentity(s.Run), WayOut: runpolicy.MayReachOut(s.Run),
	})
	if pod != nil && err == nil {
		takePod(s, pod)
		r.observePool(s, sandbox.PoolName(pod))
	}
	return pod, err
}

func (r *Reconciler) createPod(ctx context.Context, s *pass.Run) error {
	want, err := r.buildPod(ctx, s.Run)
	if err != nil {
		return err
	}
	if taken, err := r.takePooled(ctx, s, want); taken != nil || err != nil {
		return err
	}
	pod := want.DeepCopy()
	err = r.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		if pod, err = getPod(ctx, r.Live, s.Run, want.Name); err != nil {
			return err
		}
		if pod == nil {
			// It was deleted between the two calls, and no watch reports that.
			s.Wake(s.Now.Add(s.Pause()))
			return nil
		}
		if objects.OwnedByRun(pod, s.Run) && !sandbox.Same(pod, want) && (s.Run.Status.Sandbox == nil || runpolicy.Replaced(s.Run.Status.Sandbox)) {
			// A leader made it, as its version does, and ended before a status named it. No engine has used it.
			s.Block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxReplaced, fmt.Sprintf(
				"The Pod %s was made and never used. It is deleted, and another one made.", pod.Name), false)
			s.Wake(s.Now.Add(s.Pause()))
			return r.deletePod(ctx, s.Run, pod)
		}
		if !objects.OwnedByRun(pod, s.Run) || !sandbox.Same(pod, want) {
			s.Block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxNameTaken, fmt.Sprintf(
				"The Pod %s exists and is not this run's, or not as the manager makes it. Delete it; the run starts when it is gone.", pod.Name), true)
			s.Wake(s.Now.Add(s.Pause()))
			return nil
		}
	}
	if objects.Refused(err) {
		s.Block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxRefused, fmt.Sprintf(
			"The API server refused the sandbox Pod: %v. Make room, or permit the Pod in the quota, webhook or policy that refused it.", err), true)
		s.Wake(s.Now.Add(s.Pause()))
		return nil
	}
	if err != nil {
		return fmt.Errorf("create the sandbox Pod: %w", err)
	}
	takePod(s, pod)
	r.observePool(s, "")
	return r.observeClaim(ctx, s)
}

// observePool tells the Observer from which pool a new sandbox of the run is, "" for none.
func (r *Reconciler) observePool(s *pass.Run, name string) {
	switch {
	case r.Observer == nil || r.Pools == nil || len(s.Pools) == 0:
	case name != "":
		r.Observer.PoolAdopted(s.Run.Namespace, name)
	default:
		r.Observer.PoolMissed(s.Run.Namespace, s.Pools[0])
	}
}
