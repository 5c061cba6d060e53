// SPDX-License-Identifier: Apache-2.0

// Package cluster is the evaluation's only way to a cluster: kubectl, in one namespace. It decides nothing.
package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// ErrNotFound is returned for an object that is not there.
var ErrNotFound = errors.New("there is no such object")

// maxOutput bounds what is read of kubectl: a sandbox decides how much an exec prints.
const maxOutput = 128 << 20

// Kubectl works in a namespace, or for objects without one if Namespace is empty.
type Kubectl struct{ Program, Namespace string }

// Object is a Kubernetes object.
type Object = map[string]any

// Apply makes or changes an object.
func (k Kubectl) Apply(ctx context.Context, o Object) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	// Applied by the server, because the client's way keeps a second copy of every file in an annotation.
	_, err = k.run(ctx, bytes.NewReader(text), "apply", "--server-side", "--force-conflicts", "--field-manager=motorcortex-eval", "-f", "-")
	return err
}

// Get reads an object into a value.
func (k Kubectl) Get(ctx context.Context, kind, name string, into any) error {
	text, err := k.run(ctx, nil, "get", kind, name, "-o", "json")
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Patch changes an object by a patch of the type json or merge.
func (k Kubectl) Patch(ctx context.Context, kind, name, patchType string, patch any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = k.run(ctx, nil, "patch", kind, name, "--type="+patchType, "-p", string(text))
	return err
}

// Delete removes an object, and returns at once if it does not wait. One that is not there is no error.
func (k Kubectl) Delete(ctx context.Context, kind, name string, wait bool) error {
	_, err := k.run(ctx, nil, "delete", kind, name, "--ignore-not-found", fmt.Sprintf("--wait=%t", wait))
	return err
}

// Ready waits until a Pod is ready.
func (k Kubectl) Ready(ctx context.Context, pod string) error {
	_, err := k.run(ctx, nil, "wait", "pod/"+pod, "--for=condition=Ready", "--timeout=180s")
	return err
}

// Exec runs a command in a container and returns what it printed. Its status is that of an *exec.ExitError.
func (k Kubectl) Exec(ctx context.Context, stdin io.Reader, pod, container string, argv ...string) ([]byte, error) {
	args := []string{"exec", pod, "-c", container}
	if stdin != nil {
		args = append(args, "-i")
	}
	return k.run(ctx, stdin, append(append(args, "--"), argv...)...)
}

func (k Kubectl) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	if k.Namespace != "" {
		args = append([]string{"-n", k.Namespace}, args...)
	}
	cmd := exec.CommandContext(ctx, k.Program, args...)
	out, errs := &limited{most: maxOutput}, &limited{most: 8 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, errs
	err := cmd.Run()
	switch {
	case err == nil && out.over:
		return nil, fmt.Errorf("kubectl %s printed more than %d MiB", args[0], maxOutput>>20)
	case err == nil:
		return out.Bytes(), nil
	case strings.Contains(errs.String(), "(NotFound)"):
		return nil, fmt.Errorf("%w: %s", ErrNotFound, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(shown(args), " "), err, strings.TrimSpace(errs.String()))
}

// shown leaves out what would fill a message.
func shown(args []string) []string { return args[:min(len(args), 6)] }

// limited keeps the first bytes.
type limited struct {
	bytes.Buffer
	most int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.most - l.Len()
	if len(p) > room {
		l.over = true
		l.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}
