// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"cmp"
	"context"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// All lists the objects of a namespace, or of all if it is "", page by page, and returns them in the order of namespaces and names. empty is an empty list of
// their kind. An error is that of the request.
func All[T client.Object](ctx context.Context, c client.Reader, empty client.ObjectList, namespace string) ([]T, error) {
	var all []T
	for next := ""; ; {
		// A list that is read into again may have its items written over.
		page := empty.DeepCopyObject().(client.ObjectList)
		if err := c.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, err
		}
		err := apimeta.EachListItem(page, func(o runtime.Object) error {
			all = append(all, o.(T))
			return nil
		})
		if err != nil {
			return nil, err
		}
		if next = page.GetContinue(); next == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all, nil
}
