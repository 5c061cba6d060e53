// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// pageSize is how many runs are read in one request.
const pageSize = 500

// Waiting reads the runs that wait for a person. Who may not list them in all namespaces at once is shown those of each namespace.
func Waiting(ctx context.Context, c client.Client, namespace string) ([]v1alpha1.MotorRun, error) {
	runs, err := waitingIn(ctx, c, namespace)
	if namespace != "" || !apierrors.IsForbidden(err) {
		return runs, err
	}
	namespaces := &corev1.NamespaceList{}
	if listed := c.List(ctx, namespaces); listed != nil {
		return nil, fmt.Errorf("%w. You may not list namespaces either: name one with -n", err)
	}
	runs = nil
	for i := range namespaces.Items {
		more, err := waitingIn(ctx, c, namespaces.Items[i].Name)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		runs = append(runs, more...)
	}
	return runs, nil
}

func waitingIn(ctx context.Context, c client.Client, namespace string) ([]v1alpha1.MotorRun, error) {
	var runs []v1alpha1.MotorRun
	page := &v1alpha1.MotorRunList{}
	for {
		err := c.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(page.Continue),
			client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("status.pendingKind", "")})
		if err != nil {
			return nil, fmt.Errorf("list MotorRuns: %w", err)
		}
		runs = append(runs, page.Items...)
		if page.Continue == "" {
			return runs, nil
		}
	}
}
