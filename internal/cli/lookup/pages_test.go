// SPDX-License-Identifier: Apache-2.0

package lookup_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
)

func TestAllPagesAreReadAndPutInOrder(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	away := errors.New("away")
	var failed error
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			options := (&client.ListOptions{}).ApplyOptions(o)
			l := list.(*v1alpha1.MotorScheduleList)
			schedule := func(namespace, name string) v1alpha1.MotorSchedule {
				return v1alpha1.MotorSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			}
			if options.Continue == "" {
				l.Continue, l.Items = "more", []v1alpha1.MotorSchedule{schedule("b", "x"), schedule("a", "z")}
				return nil
			}
			l.Items = []v1alpha1.MotorSchedule{schedule("a", "y")}
			return failed
		},
	}).Build()
	all, err := lookup.All[*v1alpha1.MotorSchedule](t.Context(), c, &v1alpha1.MotorScheduleList{}, "")
	var names []string
	for _, s := range all {
		names = append(names, s.Namespace+"/"+s.Name)
	}
	if diff := cmp.Diff([]string{"a/y", "a/z", "b/x"}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	failed = away
	if all, err := lookup.All[*v1alpha1.MotorSchedule](t.Context(), c, &v1alpha1.MotorScheduleList{}, ""); !errors.Is(err, away) || all != nil {
		t.Errorf("%d of them, %v", len(all), err)
	}
}
