// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Phase is the stage that a sandbox Pod has reached.
type Phase int

const (
	// Starting: the Pod is not running yet, and may still start.
	Starting Phase = iota
	// Running: the tool server runs and has an address. It may take a moment more until it listens.
	Running
	// Restarting: the tool server has ended, and its node starts it again in the same Pod, on the same files. An eviction looks like this at first,
	// until the node reports that the Pod has ended.
	Restarting
	// Ended: the Pod will never run again.
	Ended
)

// MaxRestarts bounds the restarts of a tool server. One that keeps ending has a cause that a restart does not remove, and the kubelet's pauses
// between the starts grow.
const MaxRestarts = 3

// oomKilled is the reason of a container that went over its memory limit.
const oomKilled = "OOMKilled"

// State is the meaning of a sandbox Pod's status for its run.
type State struct {
	Phase Phase
	// Reason is a condition reason of the API.
	Reason string
	// Message describes the problem and what to do about it.
	Message string
	// FinishedAt is when the tool server ended by its node's clock, set while Restarting. It is zero if the node did not observe the end.
	FinishedAt time.Time
}

// Read returns the state of a sandbox Pod.
func Read(pod *corev1.Pod) State {
	s := toolserverStatus(pod)
	switch {
	case pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		return ended(pod)
	case pod.DeletionTimestamp != nil:
		return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: fmt.Sprintf("Pod %s is being deleted, and not by the run.", pod.Name)}
	case s == nil:
		return starting(pod)
	case ends(s) > MaxRestarts:
		return crashed(pod, s)
	case pod.Status.Phase == corev1.PodRunning && s.State.Running != nil && pod.Status.PodIP != "":
		return State{Phase: Running, Reason: v1alpha1.ReasonSandboxReady, Message: fmt.Sprintf("Pod %s runs.", pod.Name)}
	case ends(s) == 0, s.RestartCount == 0 && didNotStart(lastEnd(s)):
		return starting(pod)
	}
	return restarting(pod, s)
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
	if s.State.Terminated.Reason == oomKilled {
		return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxOOMKilled, Message: fmt.Sprintf(
			"Pod %s went over its memory limit. %s", pod.Name, moreMemory)}
	}
	return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: fmt.Sprintf("The tool server of Pod %s %s.", pod.Name, how(s.State.Terminated))}
}

const moreMemory = "Raise spec.sandbox.resources.memory."

// ends returns how often the tool server has ended. The node counts its starts, so while it is down it has ended once more.
func ends(s *corev1.ContainerStatus) int32 {
	if s.State.Running == nil && lastEnd(s) != nil {
		return s.RestartCount + 1
	}
	return s.RestartCount
}

// lastEnd returns the node's report on the last end of the tool server, nil if it has none.
func lastEnd(s *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	return s.LastTerminationState.Terminated
}

// didNotStart reports whether it is an end without a beginning: the runtime could not execute the tool server.
func didNotStart(t *corev1.ContainerStateTerminated) bool {
	return t != nil && (t.Reason == "StartError" || t.Reason == "ContainerCannotRun")
}

// how describes how the tool server ended, in words that follow its name.
func how(t *corev1.ContainerStateTerminated) string {
	switch {
	case t == nil || t.Reason == "ContainerStatusUnknown":
		return "ended, and its node did not see how"
	case didNotStart(t):
		return fmt.Sprintf("could not be started (%s)", cmp.Or(oneLine(t.Message), t.Reason))
	case t.Reason == oomKilled:
		return "ended because the sandbox went over its memory limit"
	}
	return fmt.Sprintf("ended with status %d (%s)", t.ExitCode, t.Reason)
}

func restarting(pod *corev1.Pod, s *corev1.ContainerStatus) State {
	message := fmt.Sprintf("The tool server of Pod %s %s. It is started again in the same Pod (%d of %d times).",
		pod.Name, how(lastEnd(s)), ends(s), MaxRestarts)
	if w := s.State.Waiting; w != nil && w.Reason != "CrashLoopBackOff" && w.Reason != "ContainerCreating" {
		message += fmt.Sprintf(" Its node says: %s %s", w.Reason, oneLine(w.Message))
	}
	return State{Phase: Restarting, Reason: v1alpha1.ReasonSandboxRestarting, Message: message, FinishedAt: finishedAt(pod, lastEnd(s))}
}

// finishedAt returns when the tool server ended. A node that lost track of it, for instance in a reboot, still reports since when the Pod is not
// ready.
func finishedAt(pod *corev1.Pod, t *corev1.ContainerStateTerminated) time.Time {
	if t != nil && t.FinishedAt.Unix() > 0 {
		return t.FinishedAt.Time
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func crashed(pod *corev1.Pod, s *corev1.ContainerStatus) State {
	t := lastEnd(s)
	message := fmt.Sprintf("The tool server of Pod %s ended %d times; the last time it %s.", pod.Name, ends(s), how(t))
	if t != nil && t.Reason == oomKilled {
		message += " " + moreMemory
	}
	return State{Phase: Ended, Reason: v1alpha1.ReasonSandboxCrashed, Message: message}
}

// starting reads why the Pod does not run yet: first the scheduler's word, then the container's.
func starting(pod *corev1.Pod) State {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return State{Phase: Starting, Reason: v1alpha1.ReasonUnschedulable, Message: fmt.Sprintf(
				"No node can take Pod %s: %s Lower spec.sandbox.resources%s or add a node.", pod.Name, oneLine(c.Message), orClass(pod))}
		}
	}
	s := packagesStatus(pod)
	switch {
	case s == nil:
		s = toolserverStatus(pod)
	case lastEnd(s) != nil && !didNotStart(lastEnd(s)):
		return State{Phase: Starting, Reason: v1alpha1.ReasonContainerCreateFailed, Message: fmt.Sprintf(
			"The packages of the skill cannot be unpacked in Pod %s (status %d): %s", pod.Name, lastEnd(s).ExitCode, oneLine(lastEnd(s).Message))}
	}
	if s == nil {
		return State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: fmt.Sprintf("Pod %s is starting.", pod.Name)}
	}
	if t := lastEnd(s); didNotStart(t) {
		return State{Phase: Starting, Reason: v1alpha1.ReasonContainerCreateFailed, Message: fmt.Sprintf(
			"The node cannot start Pod %s (%s): %s", pod.Name, t.Reason, oneLine(t.Message))}
	}
	w := s.State.Waiting
	if w == nil {
		return State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: fmt.Sprintf("Pod %s is starting.", pod.Name)}
	}
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

// Since returns when a node got a Pod, or when the Pod was created if none has it.
func Since(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(pod.CreationTimestamp.Time) {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

func toolserverStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == ContainerName {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// packagesStatus returns the status of the init container, nil if there is none or it has succeeded.
func packagesStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		if done := s.State.Terminated; s.Name == PackagesContainerName && (done == nil || done.ExitCode != 0) {
			return s
		}
	}
	return nil
}

// oneLine makes foreign text fit for a condition's message: one line, at most 300 bytes.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// SupportsUserNamespaces reports whether every node that may take new Pods runs its default runtime with user
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
