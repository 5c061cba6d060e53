// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// podsOf returns the Pods of all attempts of the run, in their order. Some were made for an attempt, and others taken from a pool.
func (r *Reconciler) podsOf(ctx context.Context, run *v1alpha1.MotorRun) ([]*corev1.Pod, error) {
	var list corev1.PodList
	selection := client.ListOption(client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox})
	if r.indexes {
		selection = client.MatchingFields{indexRun: run.Name}
	}
	if err := r.List(ctx, &list, client.InNamespace(run.Namespace), selection); err != nil {
		return nil, fmt.Errorf("list the sandbox Pods: %w", err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if pod := &list.Items[i]; objects.OwnedByRun(pod, run) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(sandbox.AttemptOf(a, run), sandbox.AttemptOf(b, run)), cmp.Compare(a.Name, b.Name))
	})
	return pods, nil
}

// changesSandbox selects the changes of a Pod that its run shows or decides by. A node reports more of a Pod than that, several times while it starts and
// again and again while it runs.
func changesSandbox() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*corev1.Pod)
		pod, also := e.ObjectNew.(*corev1.Pod)
		return !ok || !also || !sameSandbox(old, pod)
	}}
}

func sameSandbox(a, b *corev1.Pod) bool {
	was, is, same := sandbox.Read(a), sandbox.Read(b), equality.Semantic.DeepEqual
	return was.Phase == is.Phase && was.Reason == is.Reason && was.Message == is.Message && was.FinishedAt.Equal(is.FinishedAt) &&
		sandbox.Since(a).Equal(sandbox.Since(b)) && a.UID == b.UID && same(a.DeletionTimestamp, b.DeletionTimestamp) &&
		same(a.Labels, b.Labels) && same(a.OwnerReferences, b.OwnerReferences) && same(a.Spec, b.Spec) &&
		a.Status.PodIP == b.Status.PodIP && same(a.Status.PodIPs, b.Status.PodIPs) && a.Status.HostIP == b.Status.HostIP
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

// unnamed returns the Pod that is to be the sandbox of a run whose status names none, nil if there is none. If the status was lost, it is the last one. If
// the former one is replaced, it is the one of the current attempt.
func unnamed(pods []*corev1.Pod, run *v1alpha1.MotorRun) *corev1.Pod {
	current := run.Status.LatestAttempt().Index
	for _, p := range slices.Backward(pods) {
		n := sandbox.AttemptOf(p, run)
		if n == current || run.Status.Sandbox == nil && n > 0 && n < current {
			return p
		}
	}
	return nil
}

// split finds the Pod of that name among those of a run, and those of the attempts before it. One of an attempt after it is none of them: the run was
// read before that began. Strays are those that were taken from a pool for the same attempt: the status of the pass that took them was not written, or
// another one is made today.
func split(pods []*corev1.Pod, run *v1alpha1.MotorRun, name string) (current *corev1.Pod, former, strays []*corev1.Pod) {
	attempt := sandbox.AttemptOfName(name, run)
	for _, p := range pods {
		if p.Name == name {
			current, attempt = p, sandbox.AttemptOf(p, run)
		}
	}
	for _, p := range pods {
		switch n := sandbox.AttemptOf(p, run); {
		case n > 0 && n < attempt:
			former = append(former, p)
		case n == run.Status.LatestAttempt().Index && p != current && sandbox.PoolName(p) != "":
			strays = append(strays, p)
		}
	}
	return current, former, strays
}

// deleteStrays deletes Pods that the run took and that its status does not name. The run that this pass has read may be an old one, so the API server's
// own decides.
func (r *Reconciler) deleteStrays(ctx context.Context, s *pass.Run) error {
	if len(s.Strays) == 0 {
		return nil
	}
	now := &v1alpha1.MotorRun{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.Run), now); err != nil {
		return fmt.Errorf("get the run that has more than one sandbox: %w", err)
	}
	if now.UID != s.Run.UID || now.Status.LatestAttempt() != nil && now.Status.LatestAttempt().Index != s.Run.Status.LatestAttempt().Index {
		return nil
	}
	strays := slices.DeleteFunc(s.Strays, func(p *corev1.Pod) bool {
		return now.Status.Sandbox != nil && now.Status.Sandbox.PodUID == string(p.UID)
	})
	return r.deletePods(ctx, s.Run, strays)
}

// takePod records the Pod that is the run's sandbox.
func takePod(s *pass.Run, pod *corev1.Pod) {
	state := sandbox.Read(pod)
	s.Pod, s.PodState = pod, &state
}

func (r *Reconciler) buildPod(ctx context.Context, run *v1alpha1.MotorRun) (*corev1.Pod, error) {
	cfg, err := pass.SandboxConfig(ctx, r.Client, r.Config.Sandbox, r.Config.WithoutNodes)
	if err != nil {
		return nil, err
	}
	return sandbox.Pod(run, cfg), nil
}

func (r *Reconciler) deletePods(ctx context.Context, run *v1alpha1.MotorRun, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if err := r.deletePod(ctx, run, pod); err != nil {
			return err
		}
	}
	return nil
}

// deletePod deletes this very Pod, and not a later one of its name. The cache may not show yet that the pass before has deleted it.
func (r *Reconciler) deletePod(ctx context.Context, run *v1alpha1.MotorRun, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil || r.writes.HasDeleted(run, pod.UID, r.own()) {
		return nil
	}
	if err := objects.Delete(ctx, r.Client, pod); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the sandbox Pod: %w", err)
	}
	r.writes.NoteDeleted(run, pod.UID, r.own())
	return nil
}
