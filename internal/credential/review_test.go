// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// reviewed answers every review of a right.
type reviewed authorizationv1.SubjectAccessReviewStatus

func (a reviewed) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	o.(*authorizationv1.LocalSubjectAccessReview).Status = authorizationv1.SubjectAccessReviewStatus(a)
	return nil
}

// An authorizer that could not be asked must not have a start left out, or a file refused, for good.
func TestMay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer    reviewed
		may, fail bool
	}{
		"allowed":                            {reviewed{Allowed: true}, true, false},
		"no opinion":                         {reviewed{}, false, false},
		"denied":                             {reviewed{Denied: true}, false, false},
		"allowed and denied":                 {reviewed{Allowed: true, Denied: true}, false, false},
		"allowed, and one is out of order":   {reviewed{Allowed: true, EvaluationError: "no route"}, true, false},
		"denied, and one is out of order":    {reviewed{Denied: true, EvaluationError: "no route"}, false, false},
		"no answer, and one is out of order": {reviewed{EvaluationError: "no route"}, false, true},
	} {
		run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Requester: &v1alpha1.Requester{Username: "dana"}}}
		may, err := May(t.Context(), tt.answer, run, authorizationv1.ResourceAttributes{Verb: "create", Resource: "motorruns"})
		if may != tt.may || (err != nil) != tt.fail {
			t.Errorf("%s: %t, %v", name, may, err)
		}
	}
}
