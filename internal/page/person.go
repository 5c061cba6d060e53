// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/show"
)

// maxNamespaces is how many namespaces a person can choose from.
const maxNamespaces = 1000

// me says who the person is, and where the page begins.
func me(ctx context.Context, q *query) (any, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := q.Client.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("ask the cluster who you are: %w", err)
	}
	return map[string]string{"user": show.Text(review.Status.UserInfo.Username), "namespace": q.Namespace, "logout": q.Logout}, nil
}

// namespaces lists those that a person can choose from. A person who may not list them types the name.
func namespaces(ctx context.Context, q *query) (any, error) {
	list := &corev1.NamespaceList{}
	if err := q.Client.List(ctx, list, client.Limit(maxNamespaces)); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return map[string]any{"items": names}, nil
}
