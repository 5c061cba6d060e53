// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const (
	egressProxyUser = "system:serviceaccount:motorcortex-system:motorcortex-egressproxy"
	// withoutStamping on a namespace makes it like one of a cluster that has no MutatingAdmissionPolicy.
	withoutStamping = "test.motorcortex.dev/without-stamping"
	// withoutChecks on a namespace makes it like one of a cluster without the other policies.
	withoutChecks = "test.motorcortex.dev/without-checks"
	// withQuestions on a namespace has its runs take answers to what they asked alone. Most tests have no operator that writes what
	// a run asks, and try what comes after that.
	withQuestions = "test.motorcortex.dev/with-questions"
)

// installAdmission installs every policy of config/admission.
func installAdmission(ctx context.Context) error {
	root := filepath.Join("..", "..", "config", "admission")
	for _, pattern := range []string{"*.yaml", filepath.Join("stamping", "*.yaml")} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			if err := install(ctx, file, leaveOut); err != nil {
				return fmt.Errorf("install %s: %w", file, err)
			}
		}
	}
	return nil
}

// leaveOut takes the namespaces with the labels withoutStamping and withoutChecks out of a binding.
func leaveOut(o *unstructured.Unstructured) {
	label := map[string]string{"MutatingAdmissionPolicyBinding": withoutStamping, "ValidatingAdmissionPolicyBinding": withoutChecks}[o.GetKind()]
	if label == "" {
		return
	}
	selectNamespaces(o, label, "DoesNotExist")
	if o.GetName() == "motorcortex-answers" {
		selectNamespaces(o, withQuestions, "Exists")
	}
}

func selectNamespaces(o *unstructured.Unstructured, label, operator string) {
	path := []string{"spec", "matchResources", "namespaceSelector", "matchExpressions"}
	expressions, _, err := unstructured.NestedSlice(o.Object, path...)
	if err == nil {
		err = unstructured.SetNestedSlice(o.Object, append(expressions, map[string]any{"key": label, "operator": operator}), path...)
	}
	if err != nil {
		panic(err)
	}
}

// admissionInForce reports whether each policy has been compiled: it takes the API server a moment.
func admissionInForce(ctx context.Context) bool {
	run := newRun("default", func(run *v1alpha1.MotorRun) {
		run.Spec.Requester = &v1alpha1.Requester{Username: "somebody else"}
	})
	if err := admin.Create(ctx, run, client.DryRunAll); err != nil || run.Spec.Requester.Username == "somebody else" || run.Spec.Origin == "" {
		return false
	}
	rejected := &v1alpha1.Skill{ObjectMeta: meta("default", "probe"), Spec: v1alpha1.SkillSpec{Rejections: []v1alpha1.SkillRejection{{ContentHash: thisDigest}}}}
	if err := admin.Create(ctx, rejected, client.DryRunAll); err != nil || rejected.Spec.Rejections[0].RejectedBy == "" {
		return false
	}
	stamped := newSchedule("default")
	if err := admin.Create(ctx, stamped, client.DryRunAll); err != nil || stamped.Spec.Requester == nil {
		return false
	}
	nobody, err := clientAs("nobody", "system:masters")
	if err != nil {
		return false
	}
	unstamped := newRun(managerNamespace)
	unstamped.Spec.Cancel = true
	answered := newRun(managerNamespace)
	answered.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "a"}}
	as, err := clientAs(managerUser, "system:masters")
	if err != nil {
		return false
	}
	proxy, err := clientAs(egressProxyUser, "system:masters")
	if err != nil {
		return false
	}
	sandboxes := map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}
	pod := podProbe()
	pod.OwnerReferences, pod.Labels = nil, sandboxes
	for policy, err := range map[string]error{
		"motorcortex-answers":         admin.Create(ctx, answered, client.DryRunAll),
		"motorcortex-claims":          nobody.Create(ctx, plainClaim("default", "probe-motor-sandbox-workspace"), client.DryRunAll),
		"motorcortex-claims-of-pods":  nobody.Create(ctx, podWithClaim("default", "probe-motor-sandbox-workspace"), client.DryRunAll),
		"motorcortex-services":        nobody.Create(ctx, serviceFor("default", "probe", sandboxes), client.DryRunAll),
		"motorcortex-endpoints":       nobody.Create(ctx, sliceFor("default", "probe", "no-motor-sandbox"), client.DryRunAll),
		"motorcortex-runs":            as.Create(ctx, unstamped, client.DryRunAll),
		"motorcortex-networkpolicies": nobody.Create(ctx, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe", Labels: sandboxes}}, client.DryRunAll),
		"motorcortex-sandbox-shape":   as.Create(ctx, pod, client.DryRunAll),
		"motorcortex-sandbox-access":  execInto(ctx, nobody, "default", "no-motor-sandbox", "exec"),
		"motorcortex-accounts":        proxy.Create(ctx, secretOf(managerNamespace, "probe", "Opaque"), client.DryRunAll),
		"motorcortex-skills":          as.Create(ctx, rejected, client.DryRunAll),
		"motorcortex-schedules":       as.Create(ctx, newSchedule("default"), client.DryRunAll),
		"motorcortex-skill-files":     nobody.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe", Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSkill}}}, client.DryRunAll),
		"motorcortex-grants":          nobody.Create(ctx, secretOf(managerNamespace, "probe", "motorcortex.dev/egress-grant"), client.DryRunAll),
	} {
		if err == nil || !strings.Contains(err.Error(), "'"+policy+"'") {
			return false
		}
	}
	return true
}

func secretOf(namespace, name, kind string, labels ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretType(kind)}
	for i := 0; i+1 < len(labels); i += 2 {
		metav1.SetMetaDataLabel(&s.ObjectMeta, labels[i], labels[i+1])
	}
	return s
}

// execInto asks for a way into a Pod. Without a kubelet the request ends in an error, whatever admission says of it.
func execInto(ctx context.Context, c client.Client, namespace, pod, subresource string) error {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod}}
	return c.SubResource(subresource).Create(ctx, o, &corev1.Pod{})
}

// rights are verbs on resources, each written as "patch,respond motorruns" or "use secrets NAME".
type rights []string

func (r rights) rules() []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, line := range r {
		fields := strings.Fields(line)
		group := "motorcortex.dev"
		switch fields[1] {
		case "secrets", "pods", "pods/exec", "pods/status", "pods/ephemeralcontainers", "configmaps", "services", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status":
			group = ""
		case "networkpolicies":
			group = "networking.k8s.io"
		case "endpointslices":
			group = "discovery.k8s.io"
		}
		rules = append(rules, rbacv1.PolicyRule{
			Verbs: strings.Split(fields[0], ","), APIGroups: []string{group}, Resources: fields[1:2], ResourceNames: fields[2:],
		})
	}
	return rules
}

// person is a user of a namespace with these rights in it and no others, and a client of theirs.
func person(ctx context.Context, t *testing.T, namespace, name string, r rights, groups ...string) client.WithWatch {
	t.Helper()
	role := "of-" + strings.ReplaceAll(name, ":", "-")
	meta := metav1.ObjectMeta{Name: role, Namespace: namespace}
	must(t, admin.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: r.rules()}))
	bind(ctx, t, namespace, name, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role})
	for _, rule := range r.rules() {
		resource, sub, _ := strings.Cut(rule.Resources[0], "/")
		object := append(rule.ResourceNames, "")[0]
		awaitRight(ctx, t, name, authorizationv1.ResourceAttributes{
			Namespace: namespace, Group: rule.APIGroups[0], Resource: resource, Subresource: sub, Verb: rule.Verbs[0],
			Name: object,
		})
	}
	c, err := clientAs(name, groups...)
	must(t, err)
	return c
}

func bind(ctx context.Context, t *testing.T, namespace, user string, role rbacv1.RoleRef) {
	t.Helper()
	must(t, admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bound-", Namespace: namespace}, RoleRef: role,
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}))
}

// awaitRight waits until the authorizer knows of a right.
func awaitRight(ctx context.Context, t *testing.T, user string, what authorizationv1.ResourceAttributes) {
	t.Helper()
	must(t, wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return may(ctx, t, user, what), nil
	}))
}

func may(ctx context.Context, t *testing.T, user string, what authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: []string{"system:authenticated"}, ResourceAttributes: &what}}
	must(t, admin.Create(ctx, review))
	return review.Status.Allowed
}

// add adds an entry to a list of a run's spec, as clients do.
func add(ctx context.Context, c client.Client, run *v1alpha1.MotorRun, list, entry string) error {
	return c.Patch(ctx, run.DeepCopy(), client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"add","path":"/spec/%s/-","value":%s}]`, list, entry)))
}

func sandboxPod(namespace, run string, change ...func(*v1alpha1.MotorRun)) *corev1.Pod {
	r := newRun(namespace, append(change, func(r *v1alpha1.MotorRun) { r.Name, r.UID = run, "6f1c2a34-0000-4000-8000-000000000001" })...)
	return sandbox.Pod(r, sandbox.Config{Image: "registry.example.org/sandbox:1", ManagerKey: "sha256:0000", Namespace: managerNamespace})
}

// packedPod is the sandbox of a run whose skill has packages.
func packedPod(namespace, run string) *corev1.Pod {
	return sandboxPod(namespace, run, func(r *v1alpha1.MotorRun) {
		r.Status.Skill = &v1alpha1.RunSkill{Name: "weather", Packages: &v1alpha1.PackageArchive{
			ConfigMapNames: []string{"weather-packages-0123456789ab-0", "weather-packages-0123456789ab-1"}, SHA256: strings.Repeat("a", 64),
		}}
	})
}

func named(name string) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) { run.Name = name }
}
