// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Wanted is the sandbox that a run needs.
type Wanted struct {
	Run *v1alpha1.MotorRun
	// Pools are the names of the pools that it may come from, in their order.
	Pools []string
	// Pod is the one that is made if no pool has it.
	Pod *corev1.Pod
	// Baseline is the identity of the namespace's closing policy, as the API server has it.
	Baseline string
	// WayOut is true if the run may get a way out of its sandbox at some time. Then the sandbox gets other labels.
	WayOut bool
}

// Take returns a sandbox of a pool that is the run's from now on, the oldest one first, nil if no pool has one that fits. The write of the Pod's owner
// succeeds for one run alone, because it names the version that was read.
func (r *Reconciler) Take(ctx context.Context, w Wanted) (*corev1.Pod, error) {
	for _, name := range w.Pools {
		var pods corev1.PodList
		if err := r.List(ctx, &pods, client.InNamespace(w.Run.Namespace), client.MatchingLabels(sandbox.PoolLabels(name))); err != nil {
			return nil, fmt.Errorf("list the sandboxes of a pool: %w", err)
		}
		slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return older(member{pod: &a}, member{pod: &b}) })
		for i := range pods.Items {
			pod := &pods.Items[i]
			if r.memory.refused(types.NamespacedName{Namespace: pod.Namespace, Name: name}, r.own()) != nil {
				break
			}
			if !r.offers(ctx, pod, w) {
				continue
			}
			taken, err := r.take(ctx, pod, w)
			if taken != nil || err != nil {
				return taken, err
			}
		}
	}
	return nil, nil
}

// offers reports whether the run can have a sandbox of a pool, and claims it.
func (r *Reconciler) offers(ctx context.Context, pod *corev1.Pod, w Wanted) bool {
	if _, ok := sandbox.PoolOf(pod); !ok || !sandbox.Fits(pod, w.Pod) {
		return false
	}
	if !isGood(pod) || r.cordoned(ctx, pod) {
		return false
	}
	return r.memory.claim(pod.UID, w.Run.UID, w.Baseline, r.own())
}

// isGood reports whether the tool server of a Pod runs, and is the first one that does.
func isGood(pod *corev1.Pod) bool {
	m := member{pod: pod, state: sandbox.Read(pod)}
	return pod.DeletionTimestamp == nil && m.state.Phase == sandbox.Running && !m.spent()
}

// take makes a claimed sandbox that of the run. It returns nil if the run cannot have it.
func (r *Reconciler) take(ctx context.Context, pod *corev1.Pod, w Wanted) (*corev1.Pod, error) {
	taken, err := r.adopt(ctx, pod, w)
	if err != nil && !apierrors.IsNotFound(err) {
		if taken, err = r.takeAgain(ctx, pod, w, err); errors.Is(err, errUnknown) {
			return nil, err
		}
	}
	if taken != nil {
		return taken, nil
	}
	r.memory.release(pod.UID)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		// A new sandbox is none the worse for it.
		r.refuse(ctx, pod, err)
	}
	return nil, nil
}

// errUnknown is returned if it is not known whose a sandbox is.
var errUnknown = errors.New("it is not known whose the sandbox is")

// takeAgain looks at a sandbox whose write failed. The write may have been carried out, now or by the pass before, whose status was not written. And a
// version that is another one by now need not mean another run: then the write is made once more.
func (r *Reconciler) takeAgain(ctx context.Context, pod *corev1.Pod, w Wanted, failed error) (*corev1.Pod, error) {
	now := &corev1.Pod{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(pod), now)
	switch {
	case apierrors.IsNotFound(err) || err == nil && now.UID != pod.UID:
		return nil, failed
	case err != nil:
		return nil, fmt.Errorf("take the sandbox %s from its pool: %w: %w", pod.Name, errUnknown, errors.Join(failed, err))
	case objects.OwnedByRun(now, w.Run) && now.DeletionTimestamp == nil:
		return now, nil
	}
	if _, waits := sandbox.PoolOf(now); waits && apierrors.IsConflict(failed) && isGood(now) && sandbox.Fits(now, w.Pod) {
		return r.adopt(ctx, now, w)
	}
	return nil, failed
}

// adopt writes that a sandbox is the run's. It returns nil if the Pod is another one by now, or goes.
func (r *Reconciler) adopt(ctx context.Context, pod *corev1.Pod, w Wanted) (*corev1.Pod, error) {
	before := pod.DeepCopy()
	sandbox.Adopt(pod, w.Run, w.WayOut, r.Now())
	if err := r.Patch(ctx, pod, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, err
	}
	if pod.UID != before.UID || pod.DeletionTimestamp != nil {
		return nil, nil
	}
	return pod, nil
}

// refuse has the pool show for a while that the API server does not let runs take its sandboxes, and offer none.
func (r *Reconciler) refuse(ctx context.Context, pod *corev1.Pod, err error) {
	ctrl.LoggerFrom(ctx).Error(err, "take a sandbox from its pool", "pod", pod.Name)
	pool := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Annotations[v1alpha1.AnnotationPool]}
	r.memory.refuse(pool, failure{v1alpha1.ReasonSandboxRefused, fmt.Sprintf(
		"The API server did not let a run take the sandbox %s: %v. Runs start with new sandboxes meanwhile.", pod.Name, err)}, r.own().Add(refusedPause))
}

// cordoned reports whether the node of a Pod takes no new Pods: it is about to be drained. A node that cannot be read is not cordoned.
func (r *Reconciler) cordoned(ctx context.Context, pod *corev1.Pod) bool {
	if r.Config.WithoutNodes || pod.Spec.NodeName == "" {
		return false
	}
	var node corev1.Node
	return r.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node) == nil && node.Spec.Unschedulable
}
