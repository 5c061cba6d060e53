// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// right is a verb on a resource, on one object of it if name is not "". The namespace "" is the whole cluster.
type right struct{ verb, group, resource, name, namespace string }

func (r right) String() string {
	what := r.resource
	if r.group != "" {
		what += "." + r.group
	}
	if r.name != "" {
		what += " " + r.name
	}
	if r.namespace == "" {
		return r.verb + " " + what + " in the cluster"
	}
	return r.verb + " " + what + " in the namespace " + r.namespace
}

// may asks the API server whether the caller has a right.
func (e *examiner) may(ctx context.Context, r right) (bool, error) {
	return e.review(ctx, authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: r.verb, Group: r.group, Resource: r.resource, Name: r.name, Namespace: r.namespace,
	}})
}

func (e *examiner) review(ctx context.Context, spec authorizationv1.SelfSubjectAccessReviewSpec) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: spec}
	if err := e.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask the cluster what you may do: %w", err)
	}
	return review.Status.Allowed, nil
}

// lacks reports whether a check cannot be made, because the caller lacks one of the rights that it needs or that cannot be found out. Then it
// says so.
func (e *examiner) lacks(ctx context.Context, name string, needed ...right) bool {
	for _, r := range needed {
		may, err := e.may(ctx, r)
		if err != nil {
			e.say(name, Unknown, "", "%v", err)
			return true
		}
		if !may {
			e.say(name, Unknown, "have an administrator look, or give you that right", "you lack the right to %s", r)
			return true
		}
	}
	return false
}

// trouble says that a check could not be made. A right can be limited to some objects, so a review does not show it.
func (e *examiner) trouble(name string, needed right, err error) {
	if apierrors.IsForbidden(err) {
		e.say(name, Unknown, "have an administrator look, or give you that right", "you lack the right to %s", needed)
		return
	}
	e.say(name, Unknown, "try again", "%v", err)
}

// caller says who asks.
func (e *examiner) caller(ctx context.Context) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := e.client.Create(ctx, review); err != nil {
		e.say("you", Unknown, "", "the cluster does not say who you are: %v", err)
		return
	}
	e.say("you", OK, "", "%s, in the namespace %s", review.Status.UserInfo.Username, e.namespace)
}

// abilities are what people do, the rights that it takes, and the ClusterRole that gives them.
var abilities = []struct {
	what   string
	rights []string
	role   string
}{
	{"read runs", []string{"get motorruns", "list motorruns", "watch motorruns", "list motorsteps"}, "motorcortex-viewer"},
	{"start runs", []string{"create motorruns"}, "motorcortex-editor"},
	{"steer runs", []string{"update motorruns", "patch motorruns"}, "motorcortex-editor"},
	{"answer runs", []string{"patch motorruns", "respond motorruns"}, "motorcortex-responder"},
	{"approve calls", []string{"patch motorruns", "approve motorruns"}, "motorcortex-approver"},
	{"approve skills", []string{"patch skills", "approve skills"}, "motorcortex-skill-approver"},
	{"use credentials", []string{"use secrets"}, "motorcortex-credential-user"},
}

// rights says what the caller may do in the namespace. Few people may do everything, so that is no failure.
func (e *examiner) rights(ctx context.Context) {
	for _, a := range abilities {
		name := "you may " + a.what
		var missing []string
		var failure error
		for _, line := range a.rights {
			verb, resource, _ := strings.Cut(line, " ")
			r := right{verb, v1alpha1.GroupVersion.Group, resource, "", e.namespace}
			if resource == "secrets" {
				r.group = ""
			}
			may, err := e.may(ctx, r)
			if err != nil {
				failure = err
				break
			}
			if !may {
				missing = append(missing, line)
			}
		}
		switch {
		case failure != nil:
			e.say(name, Unknown, "", "%v", failure)
		case len(missing) > 0:
			e.say(name, Warning, fmt.Sprintf("if you are to, have the ClusterRole %s bound to you in the namespace %s", a.role, e.namespace),
				"not all of them: you lack %s", strings.Join(missing, ", "))
		default:
			e.say(name, OK, "", "in the namespace %s", e.namespace)
		}
	}
}
