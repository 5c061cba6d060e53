// SPDX-License-Identifier: Apache-2.0

// Package rights says what a person may answer.
package rights

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pending"
)

// right is a verb on the runs of a namespace.
type right struct{ namespace, verb string }

// Rights are what a person may do. Those on all runs of a namespace are asked for once.
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
		if may, err := r.may(ctx, run, verb); may || err != nil {
			return may, err
		}
	}
	return false, nil
}

// may asks for the right on all runs of the namespace, and then, because a role can name runs, on this one.
func (r *Rights) may(ctx context.Context, run *v1alpha1.MotorRun, verb string) (bool, error) {
	key := right{run.Namespace, verb}
	may, known := r.inNamespace[key]
	if !known {
		var err error
		if may, err = r.ask(ctx, run.Namespace, "", verb); err != nil {
			return false, err
		}
		r.inNamespace[key] = may
	}
	if may {
		return true, nil
	}
	return r.ask(ctx, run.Namespace, run.Name, verb)
}

func (r *Rights) ask(ctx context.Context, namespace, name, verb string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: namespace, Name: name, Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: "motorruns",
	}}}
	if err := r.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask the cluster what you may do: %w", err)
	}
	return review.Status.Allowed, nil
}
