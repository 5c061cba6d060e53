// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/rights"
)

// Many runs of a namespace cost one question each at most, and none where the person may answer all of them.
func TestRightsAreAskedForOnce(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			review, ok := o.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				return errors.New("it is no review")
			}
			a := review.Spec.ResourceAttributes
			asked = append(asked, a.Verb+" "+a.Namespace+"/"+a.Name)
			review.Status.Allowed = a.Verb == "approve"
			return nil
		},
	}).Build()
	mine := rights.Of(c)
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	for range 3 {
		if may, err := mine.Answer(t.Context(), run, v1alpha1.InputApproval); err != nil || !may {
			t.Errorf("%v, %v", may, err)
		}
	}
	if may, err := mine.Answer(t.Context(), run, v1alpha1.InputQuestion); err != nil || may {
		t.Errorf("a question: %v, %v", may, err)
	}
	if diff := cmp.Diff([]string{"approve ns/", "respond ns/", "respond ns/a"}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
