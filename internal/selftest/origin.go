// SPDX-License-Identifier: Apache-2.0

package selftest

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// originPolicy marks the runs that are created, so that a copy of one is recognized as a copy. It is the only mutating policy whose absence causes
// no refusal: a run without a mark looks like one of a cluster that cannot mark.
const originPolicy = "motorcortex-origin"

// MarksRuns reports whether the API server has MutatingAdmissionPolicies of the version in which they are shipped, and so can mark runs.
// It has them from Kubernetes 1.36 on. Where it has none, a run that is restored from a backup is carried out again.
func MarksRuns(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(admissionv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy").GroupKind(), admissionv1.SchemeGroupVersion.Version)
	switch {
	case meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask the API server for its MutatingAdmissionPolicies: %w", err)
	}
	return true, nil
}

// origin judges originPolicy and its binding, where the API server has such policies. It returns an error if the API server does not answer.
func (f *findings) origin(ctx context.Context, r client.Reader) error {
	policy, binding := &admissionv1.MutatingAdmissionPolicy{}, &admissionv1.MutatingAdmissionPolicyBinding{}
	there, err := f.read(ctx, r, "MutatingAdmissionPolicy", originPolicy, policy)
	switch {
	case meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return err
	}
	if there {
		if p := policy.Spec.FailurePolicy; p != nil && *p != admissionv1.Fail {
			f.wrong = append(f.wrong, fmt.Sprintf("the MutatingAdmissionPolicy %s lets pass unmarked what it cannot evaluate: its failurePolicy is %s, not Fail", originPolicy, *p))
		}
		if len(policy.Spec.Mutations) == 0 {
			f.wrong = append(f.wrong, fmt.Sprintf("the MutatingAdmissionPolicy %s has no mutations", originPolicy))
		}
	}
	if there, err = f.read(ctx, r, "MutatingAdmissionPolicyBinding", originPolicy, binding); err != nil {
		return err
	}
	if there && binding.Spec.PolicyName != originPolicy {
		f.wrong = append(f.wrong, fmt.Sprintf("the MutatingAdmissionPolicyBinding %s is for the policy %s", originPolicy, binding.Spec.PolicyName))
	}
	return nil
}
