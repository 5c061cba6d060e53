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

// A person who reads one of two namespaces is shown the runs of that one.
func TestRunsOfTheNamespacesThatAPersonMayRead(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	refused := apierrors.NewForbidden(schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}, "", errors.New("no"))
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			options := (&client.ListOptions{}).ApplyOptions(o)
			switch l := list.(type) {
			case *corev1.NamespaceList:
				l.Items = []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, {ObjectMeta: metav1.ObjectMeta{Name: "other"}}}
			case *v1alpha1.MotorRunList:
				if options.FieldSelector.String() != "status.pendingKind!=" {
					t.Errorf("runs are selected by %q", options.FieldSelector)
				}
				if options.Namespace != "mine" {
					return refused
				}
				l.Items = []v1alpha1.MotorRun{{ObjectMeta: metav1.ObjectMeta{Name: "run"}}}
			}
			return nil
		},
	}).Build()
	for namespace, want := range map[string][]string{"": {"run"}, "mine": {"run"}, "other": nil} {
		runs, err := lookup.Waiting(t.Context(), c, namespace)
		var names []string
		for i := range runs {
			names = append(names, runs[i].Name)
		}
		if diff := cmp.Diff(want, names); diff != "" || apierrors.IsForbidden(err) != (namespace == "other") {
			t.Errorf("%q: error %v (-want +got):\n%s", namespace, err, diff)
		}
	}
}

// A namespace with very many runs leaves room for others, and what is left out is said.
func TestWhatIsReadOfWaitingRunsIsBounded(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			requests++
			options := (&client.ListOptions{}).ApplyOptions(o)
			l := list.(*v1alpha1.MotorRunList)
			l.Items, l.Continue = nil, "more"
			namespace := "loud"
			if options.Continue == "more" {
				namespace, l.Continue = "quiet", ""
			}
			for range 3 {
				l.Items = append(l.Items, v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}})
			}
			return nil
		},
	}).Build()
	for name, tt := range map[string]struct {
		bounds      lookup.Bounds
		loud, quiet int
		requests    int
		left        bool
	}{
		"nothing is":     {lookup.Bounds{}, 3, 3, 2, false},
		"enough":         {lookup.Bounds{Runs: 6, RunsOf: 3, Requests: 2}, 3, 3, 2, false},
		"a namespace":    {lookup.Bounds{RunsOf: 2}, 2, 2, 2, true},
		"all runs":       {lookup.Bounds{Runs: 4}, 3, 1, 2, true},
		"both":           {lookup.Bounds{Runs: 3, RunsOf: 2}, 2, 1, 2, true},
		"full after one": {lookup.Bounds{Runs: 3}, 3, 0, 1, true},
		"the requests":   {lookup.Bounds{Requests: 1}, 3, 0, 1, true},
	} {
		requests = 0
		runs, left, err := lookup.WaitingWithin(t.Context(), c, "", tt.bounds)
		of := map[string]int{}
		for i := range runs {
			of[runs[i].Namespace]++
		}
		if err != nil || of["loud"] != tt.loud || of["quiet"] != tt.quiet || left != tt.left || requests != tt.requests {
			t.Errorf("%s bounded: %v, left %v, %d requests, %v", name, of, left, requests, err)
		}
	}
}

// Runs that are as large as runs can be leave room for others, and of each no more is kept than an inbox needs.
func TestTheBytesOfWaitingRunsAreBounded(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			for i := range 9 {
				namespace := "loud"
				if i > 5 {
					namespace = "quiet"
				}
				list.(*v1alpha1.MotorRunList).Items = append(list.(*v1alpha1.MotorRunList).Items, v1alpha1.MotorRun{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Annotations: map[string]string{"a": strings.Repeat("x", 1<<20)}},
					Spec:       v1alpha1.MotorRunSpec{Task: strings.Repeat("x", 1<<20), Responses: []v1alpha1.Response{{ID: "a", Answer: "x"}}, Requester: &v1alpha1.Requester{Username: "dana"}},
					Status: v1alpha1.MotorRunStatus{
						PendingInputs: []v1alpha1.PendingInput{{ID: "b", Question: strings.Repeat("x", 1000)}}, Egress: &v1alpha1.EgressStatus{},
					},
				})
			}
			return nil
		},
	}).Build()
	runs, left, err := lookup.WaitingWithin(t.Context(), c, "", lookup.Bounds{Bytes: 8 << 10, BytesOf: 4 << 10})
	of := map[string]int{}
	for i := range runs {
		r := &runs[i]
		of[r.Namespace]++
		if r.Annotations != nil || r.Spec.Task != "" || r.Spec.Responses[0].Answer != "" {
			t.Errorf("of a run %d bytes of its task are kept", len(r.Spec.Task))
		}
		if r.Spec.Responses[0].ID != "a" || r.Spec.Requester == nil || r.Status.Egress == nil || r.Status.PendingInputs[0].ID != "b" {
			t.Errorf("of a run is kept %+v", r)
		}
	}
	if err != nil || !left || of["loud"] != 3 || of["quiet"] != 3 {
		t.Errorf("%v, left %t, %v", of, left, err)
	}
}
