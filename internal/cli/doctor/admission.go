// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/selftest"
)

// policies looks whether the admission policies and their bindings are there.
func (e *examiner) policies(ctx context.Context) {
	const name = "admission policies"
	var needed []right
	for _, resource := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"} {
		needed = append(needed, right{"get", admissionv1.GroupName, resource, "motorcortex-runs", ""})
	}
	if e.lacks(ctx, name, needed...) {
		return
	}
	switch err := selftest.Policies(ctx, e.client, "system:serviceaccount:"+e.operator+":"+managerName); {
	case err == nil:
		e.say(name, OK, "", "all of them are there, and bound")
	case errors.Is(err, selftest.ErrUnprotected):
		e.say(name, Failed, "apply config/admission of the operator's version", "%v", err)
	default:
		e.say(name, Unknown, "try again", "%v", err)
	}
}

// effect tries, in a dry run, what a policy must refuse in the namespace.
func (e *examiner) effect(ctx context.Context) {
	const name = "admission in effect"
	needed := right{"create", v1alpha1.GroupVersion.Group, "motorruns", "", e.namespace}
	if e.lacks(ctx, name, needed) {
		return
	}
	switch err := selftest.AsUser(ctx, e.client, e.namespace); {
	case err == nil:
		e.say(name, OK, "", "a run that passes for the operator's is refused in the namespace %s", e.namespace)
	case errors.Is(err, selftest.ErrUnprotected):
		e.say(name, Failed, "apply config/admission, and see that its bindings do not leave the namespace out", "%v", err)
	case apierrors.IsNotFound(err):
		e.say(name, Unknown, "name another namespace with -n", "%v", err)
	default:
		e.say(name, Unknown, "find out what refuses runs in the namespace", "something else refused first: %v", err)
	}
}
