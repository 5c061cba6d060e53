// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// sandbox creates the run's Pod and waits until it runs.
func (r *MotorRunReconciler) sandbox(ctx context.Context, s *scope) (bool, error) {
	if s.pod == nil {
		if err := r.createPod(ctx, s); err != nil || s.pod == nil {
			return false, err
		}
	}
	if s.podState.Phase == sandbox.Ending {
		// What the Pod's next status says ends the run. Should none come, conclude does when the node's time for it is over.
		return false, nil
	}
	st := &s.run.Status
	st.Sandbox = &v1alpha1.SandboxStatus{
		PodName: s.pod.Name, PodUID: string(s.pod.UID), PodIP: s.pod.Status.PodIP,
		NodeName: s.pod.Spec.NodeName, NodeIP: s.pod.Status.HostIP, CreatedAt: s.pod.CreationTimestamp.DeepCopy(),
	}
	showUserNamespace(s)
	if s.podState.Phase != sandbox.Running {
		s.block(v1alpha1.ConditionSandboxReady, s.podState.Reason, s.podState.Message, s.podState.Reason != v1alpha1.ReasonSandboxStarting)
		return false, nil
	}
	s.set(v1alpha1.ConditionSandboxReady, metav1.ConditionTrue, v1alpha1.ReasonSandboxReady, s.podState.Message)
	return true, nil
}

func (r *MotorRunReconciler) createPod(ctx context.Context, s *scope) error {
	want, err := r.buildPod(ctx, s.run)
	if err != nil {
		return err
	}
	pod := want.DeepCopy()
	err = r.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		if pod, err = getPod(ctx, r.Live, s.run); err != nil {
			return err
		}
		if pod == nil {
			// It went between the two calls, and nothing that is watched will tell.
			s.wake(s.now.Add(s.pause()))
			return nil
		}
		if !isOwn(pod, s.run) || !sandbox.Same(pod, want) {
			s.block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxNameTaken, fmt.Sprintf(
				"The Pod %s exists and is not this run's, or not as the manager makes it. Delete it; the run starts when it is gone.", pod.Name), true)
			s.wake(s.now.Add(s.pause()))
			return nil
		}
	}
	if refusedByAPI(err) {
		s.block(v1alpha1.ConditionSandboxReady, v1alpha1.ReasonSandboxRefused, fmt.Sprintf(
			"The API server refused the sandbox Pod: %v. Make room, or permit the Pod in the quota, webhook or policy that refused it.", err), true)
		s.wake(s.now.Add(s.pause()))
		return nil
	}
	if err != nil {
		return fmt.Errorf("create the sandbox Pod: %w", err)
	}
	state := sandbox.Read(pod)
	s.pod, s.podState = pod, &state
	return nil
}

func (r *MotorRunReconciler) buildPod(ctx context.Context, run *v1alpha1.MotorRun) (*corev1.Pod, error) {
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	cfg := r.Config.Sandbox
	cfg.UserNamespaces = sandbox.SupportsUserNamespaces(nodes.Items)
	return sandbox.Pod(run, cfg), nil
}

// isOwn says whether the run controls the Pod. Unlike metav1.IsControlledBy it looks at more than the UID, which anybody
// can write under another kind, past the admission policy for owner references to runs.
func isOwn(pod *corev1.Pod, run *v1alpha1.MotorRun) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.UID != run.UID || ref.Name != run.Name || ref.Kind != "MotorRun" {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == v1alpha1.GroupVersion.Group
}

func showUserNamespace(s *scope) {
	if h := s.pod.Spec.HostUsers; h != nil && !*h {
		s.set(v1alpha1.ConditionUserNamespace, metav1.ConditionTrue, v1alpha1.ReasonUserNamespaceInUse, "The sandbox has its own user namespace.")
		return
	}
	s.set(v1alpha1.ConditionUserNamespace, metav1.ConditionFalse, v1alpha1.ReasonUserNamespaceUnsupported,
		"The sandbox shares the node's user namespace, because a node reports no support for user namespaces. It still has no capabilities and no root.")
}
