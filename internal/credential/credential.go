// SPDX-License-Identifier: Apache-2.0

// Package credential reads the Secrets that runs may use, and asks whether who created a run may have it use them. It gets
// Secrets one by one, in the run's own namespace, and never lists or watches them.
package credential

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/modelref"
)

// SecretType is the type of the Secrets that runs have saved.
const SecretType corev1.SecretType = "motorcortex.dev/credential"

// AnnotationHosts lists, on a Secret that a run has saved, the only hosts that its value may be sent to.
const AnnotationHosts = "motorcortex.dev/hosts"

// ownTypes begins the types of the operator's own Secrets.
const ownTypes = "motorcortex.dev/"

// useVerb is the virtual verb on a Secret that lets a person's runs use it.
const useVerb = "use"

// Source reads credentials.
type Source struct {
	// Live reads past the cache: no Secret is ever watched.
	Live client.Reader
	// Reviews asks the API server what a user may do.
	Reviews client.Client
	// Namespace is the operator's own, in which Secrets are its keys and not credentials.
	Namespace string
}

// Value reads the value of a run's credential. The error is a *modelref.Problem, which never has the value in it, if
// somebody has to change something.
func (s Source) Value(ctx context.Context, namespace string, c *v1alpha1.Credential) (grant.Value, error) {
	var secret corev1.Secret
	err := s.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: c.SecretRef.Name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return grant.Value{}, problem(v1alpha1.ReasonCredentialSecretNotFound, c,
			"the Secret %s does not exist in namespace %s. Create it with the key %s.", c.SecretRef.Name, namespace, c.SecretRef.Key)
	case apierrors.IsForbidden(err):
		return grant.Value{}, problem(v1alpha1.ReasonCredentialForbidden, c,
			"the manager may not read the Secret %s in namespace %s. Give it the verb get.", c.SecretRef.Name, namespace)
	case err != nil:
		return grant.Value{}, fmt.Errorf("get the Secret %s of the credential %s: %w", c.SecretRef.Name, c.Name, err)
	}
	if s.isForbidden(&secret) {
		return grant.Value{}, problem(v1alpha1.ReasonCredentialForbidden, c,
			"no run may use the Secret %s, which is of type %q in namespace %s. Put the value into one of type Opaque in a namespace of its own.",
			secret.Name, secret.Type, namespace)
	}
	if host := outside(&secret, c); host != "" {
		return grant.Value{}, problem(v1alpha1.ReasonCredentialForbidden, c,
			"the run that saved the Secret %s did so for %q, and not for %s. Have the credential's hosts name those, or change the annotation %s.",
			secret.Name, secret.Annotations[AnnotationHosts], host, AnnotationHosts)
	}
	return valueOf(&secret, c)
}

// outside gives a host of the credential that a saved value is not for, "" if there is none.
func outside(secret *corev1.Secret, c *v1alpha1.Credential) string {
	if secret.Type != SecretType {
		return ""
	}
	// What cannot be read allows nothing.
	saved, _ := allowlist.ParseList(strings.Split(secret.Annotations[AnnotationHosts], ","))
	for _, h := range c.Hosts {
		rule, err := allowlist.ParseRule(string(h))
		if err != nil || !saved.Covers(rule) {
			return string(h)
		}
	}
	return ""
}

// isForbidden says whether a Secret is of a kind that no run may use, whoever created it: identities of the cluster, and
// what the operator keeps for itself.
func (s Source) isForbidden(secret *corev1.Secret) bool {
	identity := secret.Type == corev1.SecretTypeServiceAccountToken || secret.Type == corev1.SecretTypeBootstrapToken
	own := strings.HasPrefix(string(secret.Type), ownTypes) || secret.Namespace == s.Namespace
	return identity || own && secret.Type != SecretType
}

// Allowed fails with a *modelref.Problem unless who created the run may have its runs use the Secret.
func (s Source) Allowed(ctx context.Context, run *v1alpha1.MotorRun, c *v1alpha1.Credential) error {
	who := run.Spec.Requester
	if who == nil {
		return problem(v1alpha1.ReasonCredentialForbidden, c,
			"nobody knows who created the run, so nobody can say whether they may use the Secret %s. Create the run again with your name in spec.requester.username.",
			c.SecretRef.Name)
	}
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: who.Username, Groups: who.Groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: run.Namespace, Verb: useVerb, Version: "v1", Resource: "secrets", Name: c.SecretRef.Name,
			},
		},
	}
	if err := s.Reviews.Create(ctx, review); err != nil {
		return fmt.Errorf("ask whether %s may use the Secret %s: %w", who.Username, c.SecretRef.Name, err)
	}
	if !review.Status.Allowed || review.Status.Denied {
		return problem(v1alpha1.ReasonCredentialForbidden, c,
			"%s, who created the run, may not use the Secret %s in namespace %s. Give them the verb %s on it.",
			who.Username, c.SecretRef.Name, run.Namespace, useVerb)
	}
	return nil
}

// problem names the credential first.
func problem(reason string, c *v1alpha1.Credential, format string, args ...any) *modelref.Problem {
	return &modelref.Problem{Reason: reason, Message: fmt.Sprintf("The credential %s cannot be used: ", c.Name) + fmt.Sprintf(format, args...)}
}
