// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// RunsOf lists the runs of a namespace. They belong to the cache: the caller must not change them.
func RunsOf(ctx context.Context, cache client.Reader, namespace string) ([]v1alpha1.MotorRun, error) {
	var runs v1alpha1.MotorRunList
	if err := cache.List(ctx, &runs, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs.Items, nil
}

// SandboxConfig returns the configuration of sandboxes with what the nodes of today support, or without that where nodes may not be read.
func SandboxConfig(ctx context.Context, cache client.Reader, cfg sandbox.Config, withoutNodes bool) (sandbox.Config, error) {
	if withoutNodes {
		return cfg, nil
	}
	var nodes corev1.NodeList
	if err := cache.List(ctx, &nodes); err != nil {
		return cfg, fmt.Errorf("list nodes: %w", err)
	}
	cfg.UserNamespaces = sandbox.SupportsUserNamespaces(nodes.Items)
	return cfg, nil
}
