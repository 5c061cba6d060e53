// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Terminate deletes the Pod of a manager, as an update or a drained node does. It returns when that was asked for.
func (m *Managers) Terminate(ctx context.Context, pod *corev1.Pod) (time.Time, error) {
	began := time.Now()
	if err := m.Client.Delete(ctx, pod); err != nil {
		return began, fmt.Errorf("delete the manager %s: %w", pod.Name, err)
	}
	return began, nil
}

// Shell returns a Pod that sees the processes of a node and can end them. The namespace must permit privileged Pods.
func Shell(namespace, name, node, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, HostPID: true, RestartPolicy: corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{
				Name: "shell", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sleep", "infinity"},
				SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0)), Capabilities: &corev1.Capabilities{
					Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"KILL"},
				}},
			}},
		},
	}
}

// A process belongs to the container whose id is in the name of its control group, and the first of them has the number 1 there.
const killScript = `for p in /proc/[0-9]*; do
	if grep -qF "$1" $p/cgroup 2>/dev/null && grep -q "^NSpid:.*[[:space:]]1$" $p/status; then kill -KILL ${p#/proc/} && echo sent; fi
done`

// Kill has a Shell send SIGKILL to a manager. It returns a time before that: a little more than the outage is measured.
func (m *Managers) Kill(ctx context.Context, pod *corev1.Pod, shell client.ObjectKey) (time.Time, error) {
	id, err := containerID(pod)
	if err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	kill := exec.CommandContext(ctx, m.Kubectl, "-n", shell.Namespace, "exec", shell.Name, "--", "bash", "-c", killScript, "-", id)
	var stderr strings.Builder
	kill.Stderr = &stderr
	said, err := kill.Output()
	if err != nil {
		return began, fmt.Errorf("kill the manager %s: %w: %s", pod.Name, err, stderr.String())
	}
	if string(said) != "sent\n" {
		return began, fmt.Errorf("kill the manager %s: its process was not found: %q", pod.Name, said)
	}
	return began, nil
}

// containerID returns the id of the only container of a Pod.
func containerID(pod *corev1.Pod) (string, error) {
	if n := len(pod.Status.ContainerStatuses); n != 1 {
		return "", fmt.Errorf("the Pod %s has %d containers", pod.Name, n)
	}
	_, id, found := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	// A short text could be part of the name of another group.
	if !found || len(id) < 32 {
		return "", fmt.Errorf("the container of %s has the id %q", pod.Name, id)
	}
	return id, nil
}
