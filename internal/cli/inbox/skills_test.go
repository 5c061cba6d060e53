// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"context"
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// skillCluster has a skill that waits for an approval, and one that waits for nothing. denied are "approve skills", "list motorruns" and the like.
func skillCluster(t *testing.T, denied ...string) client.WithWatch {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(denied, ",")
	skill := func(name string, approved metav1.ConditionStatus, reason string) *v1alpha1.Skill {
		return &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: v1alpha1.SkillStatus{
			RevisionName: name + "-1", Conditions: []metav1.Condition{{Type: v1alpha1.ConditionApproved, Status: approved, Reason: reason}},
		}}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		skill("done", metav1.ConditionTrue, "Approved"), skill("mail", metav1.ConditionFalse, v1alpha1.ReasonAwaitingApproval),
	).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			review := o.(*authorizationv1.SelfSubjectAccessReview)
			a := review.Spec.ResourceAttributes
			review.Status.Allowed = !strings.Contains(all, a.Verb+" "+a.Resource)
			return nil
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			resource := "skills"
			if _, is := list.(*v1alpha1.MotorRunList); is {
				resource = "motorruns"
			}
			if strings.Contains(all, "list "+resource) {
				return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
			}
			options := (&client.ListOptions{}).ApplyOptions(o)
			options.FieldSelector = nil
			return c.List(ctx, list, options)
		},
	}).Build()
}

func TestTheInboxHasTheSkillsThatWait(t *testing.T) {
	t.Parallel()
	const table = `SKILL   WAITS FOR               LOOK AT IT WITH
mail    an approval of mail-1   kubectl motor skill review mail -n ns
`
	const refused = "list MotorRuns: motorruns is forbidden: no. Have the role view, or the ClusterRole motorcortex-viewer, bound to you in the namespace ns\n"
	for name, tt := range map[string]struct {
		args, denied []string
		code         int
		out, errs    string
	}{
		"of who approves":              {nil, nil, 0, table, ""},
		"of who approves skills alone": {nil, []string{"list motorruns"}, 0, table, "note: what runs ask is not shown: " + refused},
		"of others":                    {nil, []string{"approve skills"}, 0, "", "Nothing waits for you.\nnote: 1 more for people with other rights: --all lists them\n"},
		"of others, with all":          {[]string{"--all"}, []string{"approve skills"}, 0, table, ""},
		"of who reads no skills":       {nil, []string{"list skills"}, 0, "", "Nothing waits for you.\n"},
		"of who reads nothing":         {nil, []string{"list skills", "list motorruns"}, 1, "", "error: " + refused},
		"for a program":                {[]string{"-o", "json"}, []string{"list motorruns"}, 1, "", "error: " + refused},
		"as lines, with the runs":      {[]string{"-o", "jsonl"}, nil, 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := skillCluster(t, tt.denied...)
			var out, errs strings.Builder
			streams := verb.Streams{Out: &out, Err: &errs}
			p := verb.Program(streams, "kubectl-motor", "kubectl motor", "Test.", New(streams, func() (client.WithWatch, string, error) { return c, "ns", nil }))
			if code := verb.Run(t.Context(), p, append([]string{"inbox"}, tt.args...)); code != tt.code || out.String() != tt.out || errs.String() != tt.errs {
				t.Errorf("exit code %d, want %d\n%s\nwant\n%s\nerrors\n%s\nwant\n%s", code, tt.code, &out, tt.out, &errs, tt.errs)
			}
		})
	}
}
