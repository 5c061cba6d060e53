// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"

	"motorcortex.dev/motorcortex/test/eval/internal/bare"
	"motorcortex.dev/motorcortex/test/eval/internal/cluster"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

const bareContainer = "shell"

// podObjects are the Pod of the bare loop and the wall around it: the image of the sandboxes and their limits, without a network.
func podObjects(t *task.Task, image string) []cluster.Object {
	name := "bare-" + t.Name
	labels := cluster.Object{"motorcortex-eval": name}
	resources := cluster.Object{"limits": cluster.Object{"cpu": "1", "memory": "1Gi"}, "requests": cluster.Object{"cpu": "100m", "memory": "256Mi"}}
	container := cluster.Object{
		"name": bareContainer, "image": image, "imagePullPolicy": "IfNotPresent", "command": []string{"sleep", "infinity"},
		"workingDir": "/workspace", "resources": resources,
		"securityContext": cluster.Object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": cluster.Object{"drop": []string{"ALL"}}},
		"volumeMounts":    []any{cluster.Object{"name": "workspace", "mountPath": "/workspace"}, cluster.Object{"name": "tmp", "mountPath": "/tmp"}},
	}
	volume := func(name string) cluster.Object {
		return cluster.Object{"name": name, "emptyDir": cluster.Object{"sizeLimit": "1Gi"}}
	}
	return []cluster.Object{
		{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": cluster.Object{"name": name}, "spec": cluster.Object{
			"podSelector": cluster.Object{"matchLabels": labels}, "policyTypes": []string{"Ingress", "Egress"},
		}},
		{"apiVersion": "v1", "kind": "Pod", "metadata": cluster.Object{"name": name, "labels": labels}, "spec": cluster.Object{
			"automountServiceAccountToken": false, "enableServiceLinks": false, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
			"securityContext": cluster.Object{"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
				"seccompProfile": cluster.Object{"type": "RuntimeDefault"}},
			"containers": []any{container}, "volumes": []any{volume("workspace"), volume("tmp")},
		}},
	}
}

// podShell runs the bare loop's commands in its Pod.
type podShell struct {
	exec execer
	pod  string
}

// Bash runs a command with both of its outputs in one, for two minutes at most.
func (s podShell) Bash(ctx context.Context, command string) (string, error) {
	out, err := s.exec.Exec(ctx, nil, s.pod, bareContainer, "sh", "-c", `exec timeout -k 5 120 bash -c "$1" 2>&1`, "sh", command)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		// An error of kubectl has its own words around the status.
		err = exit
	}
	return bare.Shown(string(bytes.ToValidUTF8(out, []byte("\uFFFD"))), err)
}

// fill puts files into the Pod's workspace.
func (s podShell) fill(ctx context.Context, files tree.Tree) error {
	var archive bytes.Buffer
	if err := files.Tar(&archive); err != nil {
		return err
	}
	_, err := s.exec.Exec(ctx, io.Reader(&archive), s.pod, bareContainer, "tar", "-C", "/workspace", "-xf", "-")
	return err
}
