// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/rights"
)

// Skills reads the skills of a namespace, of all namespaces if it is "", in the order of their names. Who may not list them in all namespaces at once is
// shown those of each namespace.
func Skills(ctx context.Context, c client.Reader, namespace string) ([]*v1alpha1.Skill, error) {
	skills, err := skillsIn(ctx, c, namespace)
	if namespace != "" || !apierrors.IsForbidden(err) {
		return skills, err
	}
	namespaces := &corev1.NamespaceList{}
	if c.List(ctx, namespaces) != nil {
		return nil, err // It says to name a namespace.
	}
	for i := range namespaces.Items {
		of, err := skillsIn(ctx, c, namespaces.Items[i].Name)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		skills = append(skills, of...)
	}
	return skills, nil
}

func skillsIn(ctx context.Context, c client.Reader, namespace string) ([]*v1alpha1.Skill, error) {
	var skills []*v1alpha1.Skill
	for next := ""; ; {
		page := &v1alpha1.SkillList{}
		if err := c.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, rights.Refused(fmt.Errorf("list Skills: %w", err), rights.ToRead, namespace)
		}
		for i := range page.Items {
			skills = append(skills, &page.Items[i])
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	slices.SortFunc(skills, func(a, b *v1alpha1.Skill) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return skills, nil
}
