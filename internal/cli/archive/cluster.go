// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
)

// Reader returns a ReadRun that reads with the user's kubeconfig.
func Reader(connect cluster.Connect) ReadRun {
	return func(ctx context.Context, namespace, name string) (*v1alpha1.MotorRun, error) {
		c, current, err := connect()
		if err != nil {
			return nil, err
		}
		if namespace == "" {
			namespace = current
		}
		run := &v1alpha1.MotorRun{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run); err != nil {
			return nil, fmt.Errorf("get the MotorRun %s/%s: %w", namespace, name, err)
		}
		return run, nil
	}
}
