// SPDX-License-Identifier: Apache-2.0

package lookup_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
)

// A person who reads one of two namespaces is shown the skills of that one.
func TestSkillsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			options := (&client.ListOptions{}).ApplyOptions(o)
			if l, ok := list.(*corev1.NamespaceList); ok {
				l.Items = []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, {ObjectMeta: metav1.ObjectMeta{Name: "ns"}}}
				return nil
			}
			l := list.(*v1alpha1.SkillList)
			if options.Namespace != "ns" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "skills"}, "", errors.New("no"))
			}
			name := map[string]string{"": "b", "2": "a"}[options.Continue]
			l.Continue = map[string]string{"": "2"}[options.Continue]
			l.Items = []v1alpha1.Skill{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}}
			return nil
		},
	}).Build()
	for _, namespace := range []string{"ns", ""} {
		skills, err := lookup.Skills(t.Context(), c, namespace)
		var names []string
		for _, s := range skills {
			names = append(names, s.Name)
		}
		if diff := cmp.Diff([]string{"a", "b"}, names); err != nil || diff != "" {
			t.Errorf("%q: %v %s", namespace, err, diff)
		}
	}
	if _, err := lookup.Skills(t.Context(), c, "other"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "motorcortex-viewer, bound to you in the namespace other") {
		t.Errorf("the error is %v", err)
	}
}
