// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// sandbox creates the run's Pod and waits until it runs. Pods of earlier attempts are deleted before, and not waited for: a node
// that is down keeps its Pods. What runs in one has no way out any more: the grant that named it is withdrawn first.
func (r *MotorRunReconciler) sandbox(ctx context.Context, s *scope) (bool, error) {
	if !keepsAddress(s) {
		// Before the Pod goes: its address may be another Pod's a moment later.
		if gone, err := r.withdraw(ctx, s); err != nil || !gone {
			return false, err
		}
	}
	showAwaiting(s)
	if err := r.deletePods(ctx, s.former); err != nil {
		return false, err
	}
	if s.pod == nil && !standsStill(s.run) {
		if err := r.createPod(ctx, s); err != nil {
			return false, err
		}
	}
	if s.pod == nil {
		showMissingPod(s)
		return false, nil
	}
	if s.podState.Phase == sandbox.Ended {
		// A run that waits for a person, or is suspended, gets another one when it goes on.
		s.block(v1alpha1.ConditionSandboxReady, s.podState.Reason, s.podState.Message, false)
		return false, nil
	}
	st := &s.run.Status
	var lost *metav1.Time
	if s.hasSandbox() {
		lost = st.Sandbox.IsolationLostAt
	}
	st.Sandbox = &v1alpha1.SandboxStatus{
		PodName: s.pod.Name, PodUID: string(s.pod.UID), PodIP: s.pod.Status.PodIP,
		NodeName: s.pod.Spec.NodeName, NodeIP: s.pod.Status.HostIP, CreatedAt: s.pod.CreationTimestamp.DeepCopy(),
		IsolationLostAt: lost,
	}
	showUserNamespace(s)
	if s.podState.Phase != sandbox.Running {
		passes := slices.Contains([]string{v1alpha1.ReasonSandboxStarting, v1alpha1.ReasonSandboxRestarting, v1alpha1.ReasonWorkspacePending}, s.podState.Reason)
		s.block(v1alpha1.ConditionSandboxReady, s.podState.Reason, s.podState.Message, !passes)
		return false, nil
	}
	s.set(v1alpha1.ConditionSandboxReady, metav1.ConditionTrue, v1alpha1.ReasonSandboxReady, s.podState.Message)
	return true, nil
}

// standsStill reports whether the run needs no sandbox that it does not have.
func standsStill(run *v1alpha1.MotorRun) bool {
	p := run.Status.PendingInput
	return run.Spec.Suspend || p != nil && p.Kind == v1alpha1.InputRetry
}

// showMissingPod tells that a run which stands still has lost its Pod.
func showMissingPod(s *scope) {
	if s.sandboxGone {
		s.block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxLost,
			"The sandbox Pod is gone, and its workspace with it. Another one is made when the run goes on.", false)
	}
}

func (r *MotorRunReconciler) createPod(ctx context.Context, s *scope) error {
	want, err := r.buildPod(ctx, s.run)
	if err != nil {
		return err
	}
	pod := want.DeepCopy()
	err = r.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		if pod, err = getPod(ctx, r.Live, s.run, want.Name); err != nil {
			return err
		}
		if pod == nil {
			// It went between the two calls, and nothing that is watched will tell.
			s.wake(s.now.Add(s.pause()))
			return nil
		}
		if objects.OwnedByRun(pod, s.run) && !sandbox.Same(pod, want) && (s.run.Status.Sandbox == nil || runpolicy.Replaced(s.run.Status.Sandbox)) {
			// A leader made it, as its version does, and ended before a status named it. No engine has used it.
			s.block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxReplaced, fmt.Sprintf(
				"The Pod %s was made and never used. It is deleted, and another one made.", pod.Name), false)
			s.wake(s.now.Add(s.pause()))
			return r.deletePod(ctx, pod)
		}
		if !objects.OwnedByRun(pod, s.run) || !sandbox.Same(pod, want) {
			s.block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxNameTaken, fmt.Sprintf(
				"The Pod %s exists and is not this run's, or not as the manager makes it. Delete it; the run starts when it is gone.", pod.Name), true)
			s.wake(s.now.Add(s.pause()))
			return nil
		}
	}
	if objects.Refused(err) {
		s.block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxRefused, fmt.Sprintf(
			"The API server refused the sandbox Pod: %v. Make room, or permit the Pod in the quota, webhook or policy that refused it.", err), true)
		s.wake(s.now.Add(s.pause()))
		return nil
	}
	if err != nil {
		return fmt.Errorf("create the sandbox Pod: %w", err)
	}
	takePod(s, pod)
	return r.observeClaim(ctx, s)
}

// keepsAddress reports whether the address that the grant names is still the sandbox's.
func keepsAddress(s *scope) bool {
	return s.hasSandbox() && s.podState.Phase != sandbox.Ended
}
