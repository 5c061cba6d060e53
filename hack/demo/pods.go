// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// plainPodName is the same each time, so that a Pod that a killed demo left is found.
const plainPodName = "demo-plain-pod"

// plainPod does nothing, as simply as the Pod Security Standard "restricted" allows.
func plainPod(namespace, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: plainPodName},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(0)),
			// The Pod ends by itself if nobody is left to delete it.
			ActiveDeadlineSeconds:        new(int64(300)),
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "sleep", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sleep", "infinity"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// timePod creates the Pod and says how long it took to be ready, as a watch that was there before saw it.
func (d *demo) timePod(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	if err := d.removePod(ctx, pod); err != nil {
		return 0, err
	}
	defer func() {
		// The Pod goes also after Ctrl-C. If that fails, its deadline ends it.
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = d.c.Delete(after, plainPod(pod.Namespace, ""))
	}()
	watching := make(chan struct{})
	readyAt := make(chan time.Time, 1)
	following, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		first := true
		err := observe(following, d.c, &corev1.PodList{}, []client.ListOption{client.InNamespace(pod.Namespace)}, func(all []client.Object) bool {
			if first {
				first = false
				close(watching)
			}
			seen, _ := named(all, pod.Name).(*corev1.Pod)
			if seen == nil || !ready(seen) {
				return false
			}
			readyAt <- d.now()
			return true
		})
		if err != nil {
			cancel(err)
		}
	}()
	select {
	case <-watching:
	case <-following.Done():
		return 0, context.Cause(following)
	}
	created := d.now()
	if err := d.c.Create(ctx, pod); err != nil {
		return 0, err
	}
	select {
	case at := <-readyAt:
		return at.Sub(created), nil
	case <-following.Done():
		return 0, context.Cause(following)
	}
}

func (d *demo) removePod(ctx context.Context, pod *corev1.Pod) error {
	old := plainPod(pod.Namespace, "")
	if err := d.c.Delete(ctx, old); client.IgnoreNotFound(err) != nil {
		return err
	}
	return awaitGone(ctx, d.c, &corev1.PodList{}, client.ObjectKeyFromObject(old))
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
