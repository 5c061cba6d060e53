// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	workspaceVolumeName = "workspace"
	// ClaimSuffix is the suffix by which admission policies recognize the claims of sandboxes. The cluster names them by the Pod and the volume.
	ClaimSuffix = nameSuffix + "-" + workspaceVolumeName
)

// workspaceVolume returns a folder on the node's disk, or a volume of its own from the StorageClass that the run names.
func workspaceVolume(run *v1alpha1.MotorRun, s shape) corev1.Volume {
	if s.class == "" {
		return emptyDir(workspaceVolumeName, s.workspace)
	}
	return corev1.Volume{Name: workspaceVolumeName, VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			// The labels are those of the Pod: a selector for claims by their own labels matches none of a sandbox.
			ObjectMeta: metav1.ObjectMeta{Labels: podLabels(run)},
			Spec: corev1.PersistentVolumeClaimSpec{
				// Not every driver has ReadWriteOncePod. That no other Pod has the claim is for admission.
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				StorageClassName: &s.class,
				VolumeMode:       new(corev1.PersistentVolumeFilesystem),
				Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: s.workspace}},
			},
		}},
	}}
}

// ClaimName returns the name of the claim of a sandbox's workspace, "" if it has none.
func ClaimName(pod *corev1.Pod) string {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Name == workspaceVolumeName && v.Ephemeral != nil {
			return pod.Name + "-" + workspaceVolumeName
		}
	}
	return ""
}

// OrphanedClaim reports whether a claim is that of a sandbox and has no owner: its Pod was deleted with --cascade=orphan.
func OrphanedClaim(claim metav1.Object) bool {
	return strings.HasSuffix(claim.GetName(), ClaimSuffix) && claim.GetDeletionTimestamp() == nil && metav1.GetControllerOfNoCopy(claim) == nil
}

// MayWaitForClaim reports whether the claim of the workspace may be why a Pod does not start.
func MayWaitForClaim(s State) bool {
	return s.Phase == Starting && (s.Reason == v1alpha1.ReasonSandboxStarting || s.Reason == v1alpha1.ReasonUnschedulable)
}

// ReadClaim returns the state of a sandbox Pod that is starting, from the claim of that name. The scheduler's message comes first, except if the
// claim is not the Pod's: the Pod never starts with such a claim.
func ReadClaim(s State, pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) State {
	class := "none"
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	see := fmt.Sprintf("kubectl -n %s describe pvc %s", claim.Namespace, claim.Name)
	switch {
	case !metav1.IsControlledBy(claim, pod) && claim.DeletionTimestamp != nil:
		// It goes without help, as that of a former Pod of the name does, and a person has nothing to do.
		return State{Phase: Starting, Reason: v1alpha1.ReasonWorkspacePending, Message: fmt.Sprintf(
			"The PersistentVolumeClaim %s is not that of Pod %s and is being deleted; the Pod starts when it is gone. %s says what holds it, if it stays.", claim.Name, pod.Name, see)}
	case !metav1.IsControlledBy(claim, pod):
		return State{Phase: Starting, Reason: v1alpha1.ReasonWorkspaceClaimTaken, Message: fmt.Sprintf(
			"The PersistentVolumeClaim %s exists and is not that of Pod %s, which cannot start with it. Delete it; the Pod starts when it is gone.", claim.Name, pod.Name)}
	case s.Reason == v1alpha1.ReasonUnschedulable:
		s.Message += fmt.Sprintf(" Its PersistentVolumeClaim %s of the StorageClass %s is %s: %s says more.", claim.Name, class, phaseOf(claim), see)
	case claim.Status.Phase == corev1.ClaimLost:
		return State{Phase: Starting, Reason: v1alpha1.ReasonWorkspacePending, Message: fmt.Sprintf(
			"The volume of the PersistentVolumeClaim %s of Pod %s is lost. Create the run again.", claim.Name, pod.Name)}
	case claim.Status.Phase != corev1.ClaimBound:
		return State{Phase: Starting, Reason: v1alpha1.ReasonWorkspacePending, Message: fmt.Sprintf(
			"Pod %s waits for its workspace: the PersistentVolumeClaim %s of the StorageClass %s is %s. %s says why, if it stays so.", pod.Name, claim.Name, class, phaseOf(claim), see)}
	}
	return s
}

// WithoutClaim returns the state of a sandbox Pod that is starting and whose claim is not there yet. The scheduler calls such a Pod unschedulable,
// also in the second in which the cluster makes the claim.
func WithoutClaim(pod *corev1.Pod) State {
	return State{Phase: Starting, Reason: v1alpha1.ReasonWorkspacePending, Message: fmt.Sprintf(
		"Pod %s waits for its workspace: the cluster has not made the PersistentVolumeClaim %s. kubectl -n %s describe pod %s says why, if it stays so; a quota can forbid it.",
		pod.Name, ClaimName(pod), pod.Namespace, pod.Name)}
}

func phaseOf(claim *corev1.PersistentVolumeClaim) corev1.PersistentVolumeClaimPhase {
	if claim.DeletionTimestamp != nil {
		return "being deleted"
	}
	if claim.Status.Phase == "" {
		return corev1.ClaimPending
	}
	return claim.Status.Phase
}

// orClass names the other field that a person can change in a new run if no node can take the Pod.
func orClass(pod *corev1.Pod) string {
	if ClaimName(pod) == "" {
		return ""
	}
	return ", name another spec.sandbox.workspaceStorageClassName,"
}
