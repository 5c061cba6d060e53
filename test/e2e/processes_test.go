// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// signalPod sends a signal to the first process of a Pod's only container. No request to the API server does that: a
// process that is asked to end gives back what it holds before.
func signalPod(t *testing.T, pod *corev1.Pod, signal string) {
	t.Helper()
	must(t, trySignal(t.Context(), pod, signal))
}

func trySignal(ctx context.Context, pod *corev1.Pod, signal string) error {
	var now corev1.Pod
	if err := suite.client.Get(ctx, client.ObjectKeyFromObject(pod), &now); err != nil {
		return err
	}
	shell, err := nodeShell(ctx, now.Spec.NodeName)
	if err != nil {
		return err
	}
	if len(now.Status.ContainerStatuses) != 1 {
		return fmt.Errorf("the Pod %s has %d containers", pod.Name, len(now.Status.ContainerStatuses))
	}
	_, id, found := strings.Cut(now.Status.ContainerStatuses[0].ContainerID, "://")
	if !found || len(id) < 32 {
		return fmt.Errorf("the container of %s has the id %q", pod.Name, id)
	}
	// A process belongs to the container whose id is in the name of its control group, and the first of them has the
	// number 1 there.
	said, stderr, err := tryKubectl(ctx, "", "-n", shell.Namespace, "exec", shell.Name, "--", "bash", "-c",
		`for p in /proc/[0-9]*; do
			if grep -qF "$1" $p/cgroup 2>/dev/null && grep -q "^NSpid:.*[[:space:]]1$" $p/status; then kill -"$2" ${p#/proc/} && echo sent; fi
		done`, "-", id, signal)
	if err != nil || said != "sent\n" {
		return fmt.Errorf("send %s to the first process of %s: %q: %w\n%s", signal, pod.Name, said, err, stderr)
	}
	return nil
}

// needNodeShell skips the test where no Pod may see the processes of a node.
func needNodeShell(t *testing.T) {
	t.Helper()
	var nodes corev1.NodeList
	must(t, suite.client.List(t.Context(), &nodes))
	for i := range nodes.Items {
		if _, err := nodeShell(t.Context(), nodes.Items[i].Name); apierrors.IsForbidden(err) {
			t.Skipf("this cluster lets no Pod see the processes of a node: %v", err)
		} else {
			must(t, err)
		}
	}
}

// nodeShell is a Pod that sees the processes of a node. It is made when it is first needed and goes with the suite.
func nodeShell(ctx context.Context, node string) (client.ObjectKey, error) {
	suite.shellMu.Lock()
	defer suite.shellMu.Unlock()
	if key, made := suite.shells[node]; made {
		return key, nil
	}
	ns, err := createNamespace(ctx, "node", privileged)
	if err != nil {
		return client.ObjectKey{}, err
	}
	shell := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shell"},
		Spec: corev1.PodSpec{
			NodeName: node, HostPID: true, RestartPolicy: corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(0)),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "shell", Image: suite.sandboxImage, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sleep", "infinity"},
				SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0)), Capabilities: &corev1.Capabilities{
					Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"KILL"},
				}},
			}},
		},
	}
	if err := suite.client.Create(ctx, shell); err != nil {
		return client.ObjectKey{}, err
	}
	key := client.ObjectKeyFromObject(shell)
	err = await(ctx, soon, &corev1.PodList{}, one(key), func(ctx context.Context) (bool, error) {
		var pod corev1.Pod
		err := suite.client.Get(ctx, key, &pod)
		return pod.Status.Phase == corev1.PodRunning, err
	})
	if err != nil {
		return client.ObjectKey{}, fmt.Errorf("a Pod that sees the processes of %s: %w", node, err)
	}
	suite.shells[node] = key
	return key, nil
}

// stopComponent ends a part of the development cluster, and has it started again at the end of the test at the latest.
// On another cluster the test is skipped: nobody but its owner ends parts of it.
func stopComponent(t *testing.T, name string) (start func()) {
	t.Helper()
	if suite.devcluster == "" {
		t.Skip("parts of the cluster can only be ended on the development cluster")
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*soon)
		defer cancel()
		if err := devcluster(ctx, "start", name); err != nil {
			t.Error(err)
		}
	})
	must(t, devcluster(t.Context(), "stop", name))
	return func() {
		t.Helper()
		must(t, devcluster(t.Context(), "start", name))
	}
}

// devcluster runs a command of the development cluster's program.
func devcluster(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, suite.devcluster, args...)
	cmd.Dir = filepath.Join("..", "..", "hack", "devcluster")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("devcluster %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
