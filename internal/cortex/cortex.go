// SPDX-License-Identifier: Apache-2.0

// Package cortex reads the MotorCortex of a namespace, and finds the model endpoint of a run: that of its MotorCortex, else the manager's.
package cortex

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Get returns the MotorCortex of a namespace. It returns an empty one if there is none: then every field has its default.
func Get(ctx context.Context, reader client.Reader, namespace string) (*v1alpha1.MotorCortex, error) {
	c := &v1alpha1.MotorCortex{}
	err := reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: v1alpha1.CortexName}, c)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get MotorCortex: %w", err)
	}
	return c, nil
}
