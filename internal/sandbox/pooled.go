// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"maps"
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Pooled builds a sandbox Pod that waits in a pool for a run. It differs from that of a run in its metadata and its deadline alone. The suffix makes its
// name unique. The deadline is the longest that there is: one that was set later would move the Pod into another scope of a ResourceQuota, past its bound.
func Pooled(pool *v1alpha1.SandboxPool, suffix string, cfg Config) *corev1.Pod {
	shape := sized(pool.Spec.Resources)
	shape.runtimeClass = pool.Spec.RuntimeClassName
	pod := hardened(shape, cfg)
	pod.Name, pod.Namespace = pool.Name+"-"+suffix+nameSuffix, pool.Namespace
	pod.Labels = PoolLabels(pool.Name)
	pod.Annotations = map[string]string{safeToEvict: "true"}
	pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](math.MaxInt32)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pool, v1alpha1.GroupVersion.WithKind("SandboxPool"))}
	return pod
}

// PoolLabels select the Pods that wait in a pool.
func PoolLabels(pool string) map[string]string {
	return map[string]string{v1alpha1.LabelPool: pool, v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}
}

// PoolOf returns the name and UID of the pool that a Pod waits in, false if it waits in none.
func PoolOf(pod *corev1.Pod) (metav1.OwnerReference, bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != "SandboxPool" || pod.Labels[v1alpha1.LabelPool] != ref.Name || pod.Labels[v1alpha1.LabelRun] != "" {
		return metav1.OwnerReference{}, false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return *ref, err == nil && gv.Group == v1alpha1.GroupVersion.Group
}

// Fits reports whether a Pod of a pool can be the sandbox for which another Pod was built: the two differ in their metadata and deadlines alone.
func Fits(pooled, want *corev1.Pod) bool {
	return equality.Semantic.DeepEqual(essence(&pooled.Spec), essence(&want.Spec)) && sameResources(&pooled.Spec, &want.Spec)
}

// sameResources compares what the containers ask for. An admission plugin may have changed both.
func sameResources(have, want *corev1.PodSpec) bool {
	for i := range want.Containers {
		if !equality.Semantic.DeepEqual(have.Containers[i].Resources, want.Containers[i].Resources) {
			return false
		}
	}
	return true
}

// Adopt makes a Pod of a pool that of the current attempt of a run. Its deadline begins now. With wayOut it gets the label of the run, by which the
// NetworkPolicy of a way out selects it. Without, all of its labels stay: no policy selects it that did not when its isolation was proved.
func Adopt(pod *corev1.Pod, run *v1alpha1.MotorRun, wayOut bool, now time.Time) {
	pool := pod.Labels[v1alpha1.LabelPool]
	if wayOut {
		// The others stay: the cluster itself sets those that say where the node is.
		delete(pod.Labels, v1alpha1.LabelPool)
		if pod.Labels == nil {
			pod.Labels = map[string]string{}
		}
		maps.Copy(pod.Labels, podLabels(run))
	}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[safeToEvict] = "false"
	pod.Annotations[v1alpha1.AnnotationPool] = pool
	pod.Annotations[v1alpha1.AnnotationAttempt] = strconv.Itoa(int(currentAttempt(run)))
	var age time.Duration
	if pod.Status.StartTime != nil {
		age = max(0, now.Sub(pod.Status.StartTime.Time))
	}
	pod.Spec.ActiveDeadlineSeconds = new(min(math.MaxInt32, deadlineSeconds(run)+int64(age/time.Second)))
}

// PoolName returns the name of the pool that a Pod of a run comes from, "" if it was made for the run.
func PoolName(pod *corev1.Pod) string {
	if RunOf(pod) == "" {
		return ""
	}
	return pod.Annotations[v1alpha1.AnnotationPool]
}

// RunOf returns the name of the run that an object belongs to, "" for none. Its labels do not tell: a Pod that was taken from a pool may keep those that
// it had there.
func RunOf(o metav1.Object) string {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.Kind != "MotorRun" {
		return ""
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != v1alpha1.GroupVersion.Group {
		return ""
	}
	return ref.Name
}

// AttemptOf returns the number of the attempt of a run that a Pod was made for, or taken from a pool for, 0 for none.
func AttemptOf(pod *corev1.Pod, run *v1alpha1.MotorRun) int32 {
	if PoolName(pod) != "" {
		n, err := strconv.ParseInt(pod.Annotations[v1alpha1.AnnotationAttempt], 10, 32)
		if err != nil || n < 1 {
			return 0
		}
		return int32(n)
	}
	return AttemptOfName(pod.Name, run)
}

// AttemptOfName returns the number of the attempt of a run that a Pod of that name is made for, 0 for none.
func AttemptOfName(name string, run *v1alpha1.MotorRun) int32 {
	for n := range currentAttempt(run) {
		if name == PodName(run, n+1) {
			return n + 1
		}
	}
	return 0
}
