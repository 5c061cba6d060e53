// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// podsOf returns the Pods of all attempts of the run, in their order.
func (r *Reconciler) podsOf(ctx context.Context, run *v1alpha1.MotorRun) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	for _, name := range sandbox.PodNames(run) {
		pod, err := getPod(ctx, r.Client, run, name)
		if err != nil {
			return nil, err
		}
		if pod != nil && objects.OwnedByRun(pod, run) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func getPod(ctx context.Context, reader client.Reader, run *v1alpha1.MotorRun, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, pod)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the sandbox Pod: %w", err)
	}
	return pod, nil
}

// split finds the Pod of that name among those of a run, and those of the attempts before. One of an attempt after it is none of
// them: the run was read before that began.
func split(pods []*corev1.Pod, names []string, name string) (current *corev1.Pod, former []*corev1.Pod) {
	at := slices.Index(names, name)
	for _, p := range pods {
		switch i := slices.Index(names, p.Name); {
		case i == at:
			current = p
		case i < at:
			former = append(former, p)
		}
	}
	return current, former
}

// takePod records the Pod that is the run's sandbox.
func takePod(s *pass.Run, pod *corev1.Pod) {
	state := sandbox.Read(pod)
	s.Pod, s.PodState = pod, &state
}

func (r *Reconciler) buildPod(ctx context.Context, run *v1alpha1.MotorRun) (*corev1.Pod, error) {
	cfg := r.Config.Sandbox
	if r.Config.WithoutNodes {
		return sandbox.Pod(run, cfg), nil
	}
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	cfg.UserNamespaces = sandbox.SupportsUserNamespaces(nodes.Items)
	return sandbox.Pod(run, cfg), nil
}

func (r *Reconciler) deletePods(ctx context.Context, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if err := r.deletePod(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// deletePod deletes this very Pod, and not a later one of its name.
func (r *Reconciler) deletePod(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	if err := objects.Delete(ctx, r.Client, pod); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the sandbox Pod: %w", err)
	}
	return nil
}
