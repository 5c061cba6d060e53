// SPDX-License-Identifier: Apache-2.0

// Package selftest tries, as the manager itself, requests that must be refused, and reads the policies that refuse them. The walls that it tries
// are objects apart from the manager's Deployment: an installation may lack them, and nothing else would show it.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// runsPolicy, skillsPolicy and shapePolicy are the policies that the dry runs try.
	runsPolicy   = "motorcortex-runs"
	skillsPolicy = "motorcortex-skills"
	shapePolicy  = "motorcortex-sandbox-shape"

	install = "install config/admission (kubectl apply -k config/default does)"
)

// ErrUnprotected is wrapped by every error that is certain: the cluster allows a forbidden request, or a policy is missing. Other errors leave that
// open: the API server was away, a right is missing, or something else refused first.
var ErrUnprotected = errors.New("the cluster admits a request that no user has the right to make")

// Admission returns what is wrong with the cluster's admission, nil if nothing is. It writes nothing: it reads the policies, and all its requests
// are dry runs, in the namespaces in which the manager may create Pods. The right answer in one namespace is enough, because another namespace may
// be gone or have policies of its own that refuse first. A policy takes a moment until it is in force, so an error may be over soon.
func Admission(ctx context.Context, c client.Client, namespaces ...string) error {
	account, err := whoAmI(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(
		Policies(ctx, c, account),
		inTurn(ctx, c, namespaces, forgedApproval),
		inTurn(ctx, c, namespaces, forgedSkill),
		inTurn(ctx, c, namespaces, openSandbox),
	)
}

// inTurn tries in every namespace. A wrong answer in any is an error; without one, a right answer in any is enough.
func inTurn(ctx context.Context, c client.Client, namespaces []string, try func(context.Context, client.Client, string) error) error {
	var wrong, open []error
	right := false
	for _, namespace := range namespaces {
		err := try(ctx, c, namespace)
		switch {
		case err == nil:
			right = true
		case errors.Is(err, ErrUnprotected):
			wrong = append(wrong, fmt.Errorf("namespace %s: %w", namespace, err))
		default:
			open = append(open, fmt.Errorf("namespace %s: %w", namespace, err))
		}
	}
	switch {
	case len(wrong) > 0:
		return errors.Join(wrong...)
	case right:
		return nil
	}
	return fmt.Errorf("none of the namespaces %v gives a definite answer: %w", namespaces, errors.Join(open...))
}

// forgedApproval creates a run in another's name. The manager's roles permit it to create
// runs, for those that install packages, so only the policy refuses it.
func forgedApproval(ctx context.Context, c client.Client, namespace string) error {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "motorcortex-self-test"},
		Spec: v1alpha1.MotorRunSpec{
			Task:      "must not be created",
			Requester: &v1alpha1.Requester{Username: "somebody-else"},
		},
	}
	err := c.Create(ctx, run, client.DryRunAll)
	switch {
	case err == nil:
		return fmt.Errorf("%w: the API server let the manager approve in another's name: the ValidatingAdmissionPolicy %s, or its binding, is missing: %s",
			ErrUnprotected, runsPolicy, install)
	case refused(err, runsPolicy):
		return nil
	}
	return fmt.Errorf("it cannot be told whether the manager can approve in another's name: neither its roles nor the "+
		"ValidatingAdmissionPolicy %s refused it: %w", runsPolicy, err)
}

// forgedSkill creates a skill that the manager itself approved. The manager's roles permit it, for proposals of runs, so only the policy refuses
// it.
func forgedSkill(ctx context.Context, c client.Client, namespace string) error {
	none := "sha256:" + strings.Repeat("0", 64)
	err := c.Create(ctx, &v1alpha1.Skill{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "motorcortex-self-test"},
		Spec:       v1alpha1.SkillSpec{Approval: &v1alpha1.SkillApproval{ContentHash: none, PolicyHash: none, ApprovedBy: "somebody-else"}},
	}, client.DryRunAll)
	switch {
	case err == nil:
		return fmt.Errorf("%w: the API server let the manager approve a skill: the ValidatingAdmissionPolicy %s, or its binding, is missing: %s",
			ErrUnprotected, skillsPolicy, install)
	case refused(err, skillsPolicy):
		return nil
	}
	return fmt.Errorf("it cannot be told whether the manager can approve a skill: neither its roles nor the ValidatingAdmissionPolicy %s "+
		"refused it: %w", skillsPolicy, err)
}

// refused reports whether the manager's roles or a policy refused. A quota or a foreign policy may refuse too, which does not show what happens
// without it.
func refused(err error, policy string) bool {
	return apierrors.IsForbidden(err) && (refusedBy(err, policy) || strings.Contains(err.Error(), "cannot create resource"))
}

// openSandbox creates a sandbox with a service account's token. The manager's roles permit it and the Pod Security
// Standards do, so only the policy refuses it.
func openSandbox(ctx context.Context, c client.Client, namespace string) error {
	err := c.Create(ctx, openPod(namespace), client.DryRunAll)
	switch {
	case err == nil:
		return fmt.Errorf("%w: the API server let the manager create a sandbox outside of the hardened shape: the "+
			"ValidatingAdmissionPolicy %s, or its binding, is missing: %s", ErrUnprotected, shapePolicy, install)
	case refusedBy(err, shapePolicy):
		return nil
	}
	return fmt.Errorf("a sandbox outside of the hardened shape was refused, but not by the ValidatingAdmissionPolicy %s, so it cannot "+
		"be told whether that is there (if it is missing: %s): %w", shapePolicy, install, err)
}

// refusedBy reports whether a policy refused. Its name is nowhere but in the text of the refusal.
func refusedBy(err error, policy string) bool { return strings.Contains(err.Error(), "'"+policy+"'") }

// openPod returns a Pod that is right except for its token, so that nothing refuses it before the policy does. The resources and the deadline are
// for namespaces whose LimitRanges and quotas require them.
func openPod(namespace string) *corev1.Pod {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("128Mi"),
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "self-test-motor-sandbox",
			Labels: map[string]string{
				v1alpha1.LabelRun: "self-test", v1alpha1.LabelComponent: v1alpha1.ComponentSandbox,
			},
		},
		Spec: corev1.PodSpec{
			ActiveDeadlineSeconds:        ptr.To[int64](60),
			AutomountServiceAccountToken: new(true),
			EnableServiceLinks:           new(false),
			DNSPolicy:                    corev1.DNSNone,
			DNSConfig:                    &corev1.PodDNSConfig{Nameservers: []string{"127.0.0.1"}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: ptr.To[int64](65532),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "toolserver", Image: "none.invalid/self-test",
				Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}
