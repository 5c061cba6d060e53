// SPDX-License-Identifier: Apache-2.0

package selftest

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// The policy that marks runs is a promise where the API server has its kind, and none where it has not.
func TestRunsAreMarkedWhereTheyCanBe(t *testing.T) {
	t.Parallel()
	scheme, objects := shipped(t)
	of := func(o client.Object) bool {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		switch o.(type) {
		case *admissionv1.MutatingAdmissionPolicy, *admissionv1.MutatingAdmissionPolicyBinding:
			return true
		}
		return strings.HasPrefix(kind, "MutatingAdmissionPolicy")
	}
	noKind := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: admissionv1.GroupName, Kind: "MutatingAdmissionPolicy"}, SearchedVersions: []string{"v1"}}
	things := schema.GroupResource{Group: admissionv1.GroupName, Resource: "mutatingadmissionpolicies"}
	for name, tt := range map[string]struct {
		fails   error
		change  func(client.Object)
		certain bool
		want    []string
	}{
		"as shipped":                 {},
		"an API server without them": {fails: noKind},
		"away":                       {fails: errors.New("refused connection"), want: []string{"read the MutatingAdmissionPolicy motorcortex-origin", "refused connection"}},
		"no right":                   {fails: apierrors.NewForbidden(things, originPolicy, errors.New("no")), want: []string{"mutatingadmissionpolicies", "MutatingAdmissionPolicy motorcortex-origin, MutatingAdmissionPolicyBinding motorcortex-origin"}},
		"missing": {fails: apierrors.NewNotFound(things, originPolicy), certain: true, want: []string{
			"the MutatingAdmissionPolicy motorcortex-origin is missing", "the MutatingAdmissionPolicyBinding motorcortex-origin is missing", "config/admission",
		}},
		"ignores": {change: func(o client.Object) {
			if p, ok := o.(*admissionv1.MutatingAdmissionPolicy); ok {
				p.Spec.FailurePolicy = new(admissionv1.Ignore)
			}
		}, certain: true, want: []string{"failurePolicy is Ignore"}},
		"empty": {change: func(o client.Object) {
			if p, ok := o.(*admissionv1.MutatingAdmissionPolicy); ok {
				p.Spec.Mutations, p.Spec.FailurePolicy = nil, nil
			}
		}, certain: true, want: []string{"motorcortex-origin has no mutations"}},
		"another's binding": {change: func(o client.Object) {
			if b, ok := o.(*admissionv1.MutatingAdmissionPolicyBinding); ok {
				b.Spec.PolicyName = "another"
			}
		}, certain: true, want: []string{"MutatingAdmissionPolicyBinding motorcortex-origin is for the policy another"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := make([]client.Object, 0, len(objects))
			for _, o := range objects {
				own = append(own, o.DeepCopyObject().(client.Object))
			}
			c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(own...).Build(), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if of(o) && tt.fails != nil {
						return tt.fails
					}
					err := c.Get(ctx, key, o, opts...)
					if err == nil && tt.change != nil {
						tt.change(o)
					}
					return err
				},
			})
			err := Policies(t.Context(), c, account)
			if (err == nil) != (tt.want == nil) || errors.Is(err, ErrUnprotected) != tt.certain {
				t.Fatalf("error %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
		})
	}
}

// The manager logs once what does not hold on an API server that cannot mark.
func TestMarksRuns(t *testing.T) {
	t.Parallel()
	with := meta.NewDefaultRESTMapper(nil)
	with.Add(admissionv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"), meta.RESTScopeRoot)
	for _, tt := range []struct {
		mapper meta.RESTMapper
		want   bool
	}{{with, true}, {meta.NewDefaultRESTMapper(nil), false}} {
		if got, err := MarksRuns(tt.mapper); got != tt.want || err != nil {
			t.Errorf("it marks: %t, %v; want %t", got, err, tt.want)
		}
	}
}
