// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Phase is how far a sandbox Pod got.
type Phase int

const (
	// Starting: the Pod is not running yet, and may still come to it.
	Starting Phase = iota
	// Running: the tool server runs and has an address.
	Running
	// Ending: the tool server has ended, and the kubelet has yet to say why. Its word follows within seconds, and only
	// that tells an eviction from a crash.
	Ending
	// Ended: the Pod will never run again.
	Ended
)

// oomKilled is the reason of a container that went over its memory limit.
const oomKilled = "OOMKilled"

// State is what a sandbox Pod's status means for its run.
type State struct {
	Phase Phase
	// Reason is a condition reason of the API.
	Reason string
	// Message says what is the matter and what to do about it.
	Message string
	// FinishedAt is when the tool server ended by its node's clock, set while Ending. It is zero if the node lost track of
	// it, and then there is no word to wait for.
	FinishedAt time.Time
}

// Read tells the state of a sandbox Pod.
func Read(pod *corev1.Pod) State {
	s := toolserverStatus(pod)
	terminated := s != nil && s.State.Terminated != nil
	switch {
	case pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded, terminated && s.State.Terminated.Reason == oomKilled:
		return ended(pod)
	case pod.DeletionTimestamp != nil:
		return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: fmt.Sprintf("Pod %s is being deleted by somebody else than the run.", pod.Name)}
	case terminated:
		return State{
			Phase: Ending, Reason: v1alpha1.ReasonSandboxLost, Message: fmt.Sprintf("The tool server of Pod %s has ended.", pod.Name),
			FinishedAt: s.State.Terminated.FinishedAt.Time,
		}
	case pod.Status.Phase == corev1.PodRunning && s != nil && s.State.Running != nil && pod.Status.PodIP != "":
		return State{Phase: Running, Reason: v1alpha1.ReasonSandboxReady, Message: fmt.Sprintf("Pod %s runs.", pod.Name)}
	}
	return starting(pod)
}

func ended(pod *corev1.Pod) State {
	if pod.Status.Reason == "Evicted" {
		return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxEvicted, Message: fmt.Sprintf(
			"Pod %s was evicted: %s. Raise spec.sandbox.resources.workspace if it is the storage.", pod.Name, oneLine(pod.Status.Message))}
	}
	if pod.Status.Reason == "DeadlineExceeded" {
		return State{Phase: Ended, Reason: v1alpha1.ReasonTimeout, Message: fmt.Sprintf("Pod %s reached its own deadline.", pod.Name)}
	}
	s := toolserverStatus(pod)
	if s == nil || s.State.Terminated == nil {
		return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: fmt.Sprintf("Pod %s ended: %s %s", pod.Name, pod.Status.Reason, oneLine(pod.Status.Message))}
	}
	t := s.State.Terminated
	if t.Reason == oomKilled {
		return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxOOMKilled, Message: fmt.Sprintf(
			"Pod %s went over its memory limit. Raise spec.sandbox.resources.memory.", pod.Name)}
	}
	return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: fmt.Sprintf("The tool server of Pod %s ended with status %d (%s).", pod.Name, t.ExitCode, t.Reason)}
}

// starting reads why the Pod does not run yet: first the scheduler's word, then the container's.
func starting(pod *corev1.Pod) State {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return State{Phase: Starting, Reason: v1alpha1.ReasonUnschedulable, Message: fmt.Sprintf(
				"No node can take Pod %s: %s Lower spec.sandbox.resources or add a node.", pod.Name, oneLine(c.Message))}
		}
	}
	s := toolserverStatus(pod)
	if s == nil || s.State.Waiting == nil {
		return State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: fmt.Sprintf("Pod %s is starting.", pod.Name)}
	}
	w := s.State.Waiting
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return State{Phase: Starting, Reason: v1alpha1.ReasonImagePullFailed, Message: fmt.Sprintf(
			"The node cannot get the image %s of Pod %s (%s). Load or push that image, or change the manager's --sandbox-image.",
			s.Image, pod.Name, w.Reason)}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError":
		return State{Phase: Starting, Reason: v1alpha1.ReasonContainerCreateFailed, Message: fmt.Sprintf(
			"The node cannot start Pod %s (%s): %s", pod.Name, w.Reason, oneLine(w.Message))}
	}
	return State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: fmt.Sprintf("Pod %s is starting.", pod.Name)}
}

func toolserverStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == ContainerName {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// oneLine keeps foreign text from breaking a condition's message: one line, at most 300 bytes.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// SupportsUserNamespaces says whether every node that may take new Pods runs its default runtime with user
// namespaces, by the node's own report. No node at all counts as no.
func SupportsUserNamespaces(nodes []corev1.Node) bool {
	usable := 0
	for i := range nodes {
		if nodes[i].Spec.Unschedulable {
			continue
		}
		if !nodeSupportsUserNamespaces(&nodes[i]) {
			return false
		}
		usable++
	}
	return usable > 0
}

func nodeSupportsUserNamespaces(n *corev1.Node) bool {
	for _, h := range n.Status.RuntimeHandlers {
		if h.Name == "" {
			return h.Features != nil && h.Features.UserNamespaces != nil && *h.Features.UserNamespaces
		}
	}
	return false
}
