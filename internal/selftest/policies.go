// SPDX-License-Identifier: Apache-2.0

package selftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// promises are the policies of config/admission on which the operator's promises depend. Some have the manager's account in their expressions, as
// an exception or as the subject of a rule.
var promises = []struct {
	name         string
	namesAccount bool
}{
	{"motorcortex-accounts", true},
	{"motorcortex-adoptions", true},
	{"motorcortex-answer-files", false},
	{"motorcortex-answers", false},
	{"motorcortex-claims", false},
	{"motorcortex-claims-of-pods", true},
	{"motorcortex-credentials", true},
	{"motorcortex-endpoints", false},
	{"motorcortex-four-eyes", false},
	{"motorcortex-grants", true},
	{"motorcortex-networkpolicies", true},
	{"motorcortex-pod-bindings", false},
	{"motorcortex-pods", true},
	{"motorcortex-receiver-secrets", false},
	{runsPolicy, true},
	{"motorcortex-sandbox-access", false},
	{shapePolicy, false},
	{"motorcortex-schedule-credentials", false},
	{"motorcortex-schedules", true},
	{"motorcortex-service-secrets", false},
	{"motorcortex-services", false},
	{"motorcortex-skill-files", true},
	{skillsPolicy, true},
	{"motorcortex-snapshots", false},
	{"motorcortex-steps", true},
}

// Policies reads the policies and their bindings, and reports in one error which of them are missing or refuse nothing. The policy that marks runs
// is among them where the API server has its kind. The account is the manager's user name; with "" Policies does not check whether the policies
// name it. Policies does not judge whether an expression is the shipped one, or which namespaces a binding excludes: both may be what an
// administrator wants.
func Policies(ctx context.Context, r client.Reader, account string) error {
	found := findings{}
	for _, promise := range promises {
		policy, binding := &admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}
		there, err := found.read(ctx, r, "ValidatingAdmissionPolicy", promise.name, policy)
		if err != nil {
			return errors.Join(found.err(), err)
		}
		if there {
			found.judge(policy, promise.namesAccount, account)
		}
		if there, err = found.read(ctx, r, "ValidatingAdmissionPolicyBinding", promise.name, binding); err != nil {
			return errors.Join(found.err(), err)
		}
		if there {
			found.judgeBinding(binding, promise.name)
		}
	}
	err := found.origin(ctx, r)
	return errors.Join(found.err(), err)
}

// findings are the defects that are certain, and the objects that the manager has no right to read.
type findings struct{ wrong, unreadable []string }

// read reports whether an object exists and could be read. It returns an error if the API server does not answer.
func (f *findings) read(ctx context.Context, r client.Reader, kind, name string, into client.Object) (bool, error) {
	err := r.Get(ctx, client.ObjectKey{Name: name}, into)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err):
		f.wrong = append(f.wrong, fmt.Sprintf("the %s %s is missing", kind, name))
		return false, nil
	case apierrors.IsForbidden(err):
		f.unreadable = append(f.unreadable, fmt.Sprintf("%s %s", kind, name))
		return false, nil
	}
	return false, fmt.Errorf("read the %s %s: %w", kind, name, err)
}

func (f *findings) judge(policy *admissionv1.ValidatingAdmissionPolicy, namesAccount bool, account string) {
	// Unset, it is Fail.
	if p := policy.Spec.FailurePolicy; p != nil && *p != admissionv1.Fail {
		f.wrong = append(f.wrong, fmt.Sprintf("the ValidatingAdmissionPolicy %s lets through what it cannot evaluate: its failurePolicy is %s, not Fail", policy.Name, *p))
	}
	if len(policy.Spec.Validations) == 0 {
		f.wrong = append(f.wrong, fmt.Sprintf("the ValidatingAdmissionPolicy %s has no validations", policy.Name))
	}
	if namesAccount && account != "" && !names(&policy.Spec, account) {
		f.wrong = append(f.wrong, fmt.Sprintf("the ValidatingAdmissionPolicy %s does not name the manager's account %s: it is for another namespace or account", policy.Name, account))
	}
}

func (f *findings) judgeBinding(binding *admissionv1.ValidatingAdmissionPolicyBinding, policy string) {
	if binding.Spec.PolicyName != policy {
		f.wrong = append(f.wrong, fmt.Sprintf("the ValidatingAdmissionPolicyBinding %s is for the policy %s", binding.Name, binding.Spec.PolicyName))
	}
	if !slices.Contains(binding.Spec.ValidationActions, admissionv1.Deny) {
		f.wrong = append(f.wrong, fmt.Sprintf("the ValidatingAdmissionPolicyBinding %s refuses nothing: its validationActions are %v, without Deny", binding.Name, binding.Spec.ValidationActions))
	}
}

func (f *findings) err() error {
	var wrong, unreadable error
	if len(f.wrong) > 0 {
		wrong = fmt.Errorf("%w: %s: %s", ErrUnprotected, strings.Join(f.wrong, "; "), install)
	}
	if len(f.unreadable) > 0 {
		unreadable = fmt.Errorf("the manager lacks the right to get validatingadmissionpolicies, mutatingadmissionpolicies and the bindings of both of "+
			"admissionregistration.k8s.io by name, and cannot tell whether they are there: give it the ClusterRole of config/rbac, or that of "+
			"config/namespaced/admission.yaml: %s", strings.Join(f.unreadable, ", "))
	}
	return errors.Join(wrong, unreadable)
}

// names reports whether an expression has the account in it, as a whole string: another's name may begin with it.
func names(spec *admissionv1.ValidatingAdmissionPolicySpec, account string) bool {
	var expressions []string
	for _, c := range spec.MatchConditions {
		expressions = append(expressions, c.Expression)
	}
	for _, v := range spec.Variables {
		expressions = append(expressions, v.Expression)
	}
	for _, v := range spec.Validations {
		expressions = append(expressions, v.Expression)
	}
	return slices.ContainsFunc(expressions, func(e string) bool {
		return strings.Contains(e, "'"+account+"'") || strings.Contains(e, `"`+account+`"`)
	})
}

// whoAmI asks the API server for the manager's user name. It returns "" if the API server does not name it.
func whoAmI(ctx context.Context, c client.Client) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	err := c.Create(ctx, review)
	switch {
	// Every user has this right, unless an administrator removed it for all.
	case apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("ask the API server for the manager's own name: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}
