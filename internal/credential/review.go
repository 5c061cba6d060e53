// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// May reports whether the creator of the run has a right in its namespace. A run that does not name its creator has none. It is an
// error if the API server could not find out.
func May(ctx context.Context, reviews Reviewer, run *v1alpha1.MotorRun, right authorizationv1.ResourceAttributes) (bool, error) {
	who := run.Spec.Requester
	if who == nil {
		return false, nil
	}
	right.Namespace = run.Namespace
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace},
		Spec:       authorizationv1.SubjectAccessReviewSpec{User: who.Username, Groups: who.Groups, ResourceAttributes: &right},
	}
	if err := reviews.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether %s may %s %s %s: %w", who.Username, right.Verb, right.Resource, right.Name, err)
	}
	st := &review.Status
	if !st.Allowed && !st.Denied && st.EvaluationError != "" {
		// An authorizer that cannot be reached has not answered: that must not count as a right which is lacking.
		return false, fmt.Errorf("ask whether %s may %s %s %s: %s", who.Username, right.Verb, right.Resource, right.Name, st.EvaluationError)
	}
	return st.Allowed && !st.Denied, nil
}
