// SPDX-License-Identifier: Apache-2.0

// Package rights says what a person may answer and decide, and which role they lack.
package rights

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pending"
)

// right is a verb on the objects of a kind in a namespace.
type right struct{ namespace, verb, resource string }

// Rights are what a person may do. Those on all objects of a namespace are asked for once.
type Rights struct {
	client      client.Client
	inNamespace map[right]bool
}

// Of are the rights of the person whose client it is.
func Of(c client.Client) *Rights { return &Rights{client: c, inNamespace: map[right]bool{}} }

// Answer reports whether the person may answer such an ask of the run. Admission asks for the same rights.
func (r *Rights) Answer(ctx context.Context, run *v1alpha1.MotorRun, kind v1alpha1.InputKind) (bool, error) {
	verbs := []string{pending.Verb(kind)}
	if kind == v1alpha1.InputRetry {
		verbs = append(verbs, "update")
	}
	for _, verb := range verbs {
		if may, err := r.may(ctx, right{run.Namespace, verb, "motorruns"}, run.Name); may || err != nil {
			return may, err
		}
	}
	return false, nil
}

// Approve reports whether the person may decide about the skill. Admission asks for the same right.
func (r *Rights) Approve(ctx context.Context, s *v1alpha1.Skill) (bool, error) {
	return r.may(ctx, right{s.Namespace, "approve", "skills"}, s.Name)
}

// may asks for the right on all objects of the namespace, and then, because a role can name objects, on this one.
func (r *Rights) may(ctx context.Context, key right, name string) (bool, error) {
	may, known := r.inNamespace[key]
	if !known {
		var err error
		if may, err = r.ask(ctx, key, ""); err != nil {
			return false, err
		}
		r.inNamespace[key] = may
	}
	if may {
		return true, nil
	}
	return r.ask(ctx, key, name)
}

func (r *Rights) ask(ctx context.Context, key right, name string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: key.namespace, Name: name, Verb: key.verb, Group: v1alpha1.GroupVersion.Group, Resource: key.resource,
	}}}
	if err := r.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask the cluster what you may do: %w", err)
	}
	return review.Status.Allowed, nil
}
