// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"

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
	skills, err := All[*v1alpha1.Skill](ctx, c, &v1alpha1.SkillList{}, namespace)
	if err != nil {
		return nil, rights.Refused(fmt.Errorf("list Skills: %w", err), rights.ToRead, namespace)
	}
	return skills, nil
}
