// SPDX-License-Identifier: Apache-2.0

// Package credential reads the Secrets that runs may use, and checks whether the creator of a run may have it use them. It gets Secrets one by one,
// in the run's own namespace, and never lists or watches them.
package credential

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/secret"
)

// SecretType is the type of the Secrets that runs have saved.
const SecretType = cortex.CredentialType

// AnnotationHosts lists, on a Secret of any type, the hosts that its value may be sent to, separated by commas.
const AnnotationHosts = cortex.AnnotationHosts

const (
	// useVerb is the virtual verb on a Secret by which a person's runs may use it, for the hosts that the Secret names.
	useVerb = "use"
	// approveVerb is the virtual verb on a run by which a person may decide what it can reach.
	approveVerb = "approve"
)

// Chooses reports whether the creator of the run may have a Secret used for hosts that it does not name. It is called only where the answer
// matters.
type Chooses func() (bool, error)

// Reviewer creates reviews of the rights of users.
type Reviewer interface {
	Create(ctx context.Context, review client.Object, opts ...client.CreateOption) error
}

// Source reads credentials.
type Source struct {
	// Live reads past the cache: no Secret is ever watched.
	Live client.Reader
	// Reviews asks the API server what a user may do.
	Reviews Reviewer
	// Namespace is the operator's own, in which Secrets are its keys and not credentials.
	Namespace string
}

// Value reads the value of a run's credential. The error is a *cortex.Problem if a person must change the configuration. It never contains the
// value.
func (s Source) Value(ctx context.Context, run *v1alpha1.MotorRun, c *v1alpha1.Credential, chooses Chooses) (secret.Value, error) {
	namespace := run.Namespace
	var object corev1.Secret
	err := s.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: c.SecretRef.Name}, &object)
	switch {
	case apierrors.IsNotFound(err):
		return secret.Value{}, problem(v1alpha1.ReasonCredentialSecretNotFound, c,
			"the Secret %s does not exist in namespace %s. Create it with the key %s.", c.SecretRef.Name, namespace, c.SecretRef.Key)
	case apierrors.IsForbidden(err):
		return secret.Value{}, problem(v1alpha1.ReasonCredentialForbidden, c,
			"the manager may not read the Secret %s in namespace %s. Give it the verb get.", c.SecretRef.Name, namespace)
	case err != nil:
		return secret.Value{}, fmt.Errorf("get the Secret %s of the credential %s: %w", c.SecretRef.Name, c.Name, err)
	}
	if s.isForbidden(&object) {
		return secret.Value{}, problem(v1alpha1.ReasonCredentialForbidden, c,
			"no run may use the Secret %s, which is of type %q in namespace %s. Put the value into one of type Opaque in a namespace of its own.",
			object.Name, object.Type, namespace)
	}
	if err := bound(&object, run, c, chooses); err != nil {
		return secret.Value{}, err
	}
	return valueOf(&object, c)
}

// bound returns an error unless the value may be sent to all hosts of the credential. Without it the right to use a Secret would be the right to
// read it: the value would be sent to a host of the reader's own.
func bound(object *corev1.Secret, run *v1alpha1.MotorRun, c *v1alpha1.Credential, chooses Chooses) error {
	host := outside(object, c)
	switch {
	case host == "":
		return nil
	case object.Type == SecretType:
		return problem(v1alpha1.ReasonCredentialForbidden, c,
			"the run that saved the Secret %s did so for %q, and not for %s. Have the credential's hosts name those, or change the annotation %s.",
			object.Name, object.Annotations[AnnotationHosts], host, AnnotationHosts)
	case boundBySkill(run, c):
		return nil
	}
	if may, err := chooses(); err != nil || may {
		return err
	}
	return problem(v1alpha1.ReasonCredentialForbidden, c,
		"the Secret %s is not for %s: its annotation %s names %q. Name the host there, or have the run created by a user who may get the "+
			"Secret or approve the run (verb %s on motorruns): they may choose other hosts.",
		object.Name, host, AnnotationHosts, object.Annotations[AnnotationHosts], approveVerb)
}

// boundBySkill reports whether the person who approved the run's skill approved this Secret for these hosts.
func boundBySkill(run *v1alpha1.MotorRun, c *v1alpha1.Credential) bool {
	skill := run.Status.Skill
	if skill == nil || !skill.Approved || skill.Policy == nil {
		return false
	}
	i := slices.IndexFunc(skill.Policy.Credentials, func(p v1alpha1.SkillCredential) bool {
		return p.Name == c.Name && p.SecretRef != nil && *p.SecretRef == c.SecretRef
	})
	if i < 0 {
		return false
	}
	var approved []string
	for _, h := range skill.Policy.Credentials[i].Hosts {
		approved = append(approved, string(h))
	}
	return firstOutside(approved, c) == ""
}

// outside returns a host of the credential that the Secret does not name, "" if there is none.
func outside(object *corev1.Secret, c *v1alpha1.Credential) string {
	return firstOutside(strings.Split(object.Annotations[AnnotationHosts], ","), c)
}

func firstOutside(hosts []string, c *v1alpha1.Credential) string {
	for i := range hosts {
		hosts[i] = strings.TrimSpace(hosts[i])
	}
	// A list that cannot be read allows nothing.
	list, _ := allowlist.ParseList(hosts)
	for _, h := range c.Hosts {
		rule, err := allowlist.ParseRule(string(h))
		if err != nil || !list.Covers(rule) {
			return string(h)
		}
	}
	return ""
}

// isForbidden reports whether a Secret is of a kind that no run may use, independent of its creator: one that holds no credential of a user, or one
// of the operator's own.
func (s Source) isForbidden(object *corev1.Secret) bool {
	return cortex.HoldsOtherThings(object.Type) || object.Namespace == s.Namespace && object.Type != SecretType
}

// Allowed returns a *cortex.Problem unless the creator of the run may have its runs use the Secret.
func (s Source) Allowed(ctx context.Context, run *v1alpha1.MotorRun, c *v1alpha1.Credential) error {
	who := run.Spec.Requester
	if who == nil {
		return problem(v1alpha1.ReasonCredentialForbidden, c,
			"the creator of the run is unknown, so it is unknown whether they may use the Secret %s. Create the run again with your name in spec.requester.username.",
			c.SecretRef.Name)
	}
	may, err := May(ctx, s.Reviews, run, authorizationv1.ResourceAttributes{Verb: useVerb, Version: "v1", Resource: "secrets", Name: c.SecretRef.Name})
	if err != nil {
		return err
	}
	if !may {
		return problem(v1alpha1.ReasonCredentialForbidden, c,
			"%s, who created the run, may not use the Secret %s in namespace %s. Give them the verb %s on it.",
			who.Username, c.SecretRef.Name, run.Namespace, useVerb)
	}
	return nil
}

// MayChoose reports whether the creator of the run may have its Secrets used for any hosts. A person who may read the Secret can send it anywhere
// without a run, and a person who may approve the run decides what it reaches.
func (s Source) MayChoose(ctx context.Context, run *v1alpha1.MotorRun, c *v1alpha1.Credential) (bool, error) {
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Version: "v1", Resource: "secrets", Name: c.SecretRef.Name},
		{Verb: approveVerb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "motorruns", Name: run.Name},
	} {
		if may, err := May(ctx, s.Reviews, run, right); may || err != nil {
			return may, err
		}
	}
	return false, nil
}

// problem names the credential first.
func problem(reason string, c *v1alpha1.Credential, format string, args ...any) *cortex.Problem {
	return &cortex.Problem{Reason: reason, Message: fmt.Sprintf("The credential %s cannot be used: ", c.Name) + fmt.Sprintf(format, args...)}
}
