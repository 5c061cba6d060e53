// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/selftest"
)

func TestSelfTestOfTheManager(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	must(t, selftest.Admission(ctx, manager, managerNamespace))

	// Where Pod Security is strict, it is still the policy that refuses.
	strict := newNamespace(ctx, t, "pod-security.kubernetes.io/enforce", "restricted")
	must(t, selftest.Admission(ctx, manager, strict))

	// An account with too many rights is held by the policy alone.
	everything, err := clientAs(managerUser, "system:masters")
	must(t, err)
	must(t, selftest.Admission(ctx, everything, managerNamespace))

	bare := newNamespace(ctx, t, withoutChecks, "true", withoutStamping, "true", "pod-security.kubernetes.io/enforce", "restricted")
	wantUnprotected(t, selftest.Admission(ctx, manager, bare), "motorcortex-sandbox-shape", "config/admission")
	wantUnprotected(t, selftest.Admission(ctx, everything, bare), "motorcortex-runs", "motorcortex-skills", "motorcortex-sandbox-shape", "config/admission")

	// Of several namespaces one is enough, and one that is open is one too many.
	must(t, selftest.Admission(ctx, manager, "gone", strict))
	wantUnprotected(t, selftest.Admission(ctx, manager, strict, bare), "namespace "+bare, "motorcortex-sandbox-shape")
	wantUndecided(t, selftest.Admission(ctx, manager, "gone", "gone-too"), "none of the namespaces", "namespace gone:", "namespace gone-too:")

	// It leaves nothing behind.
	runs := &v1alpha1.MotorRunList{}
	must(t, admin.List(ctx, runs))
	for _, run := range runs.Items {
		if run.Name == "motorcortex-self-test" {
			t.Errorf("the self-test left a run in %s", run.Namespace)
		}
	}
	skills := &v1alpha1.SkillList{}
	must(t, admin.List(ctx, skills))
	for _, skill := range skills.Items {
		if skill.Name == "motorcortex-self-test" {
			t.Errorf("the self-test left a skill in %s", skill.Namespace)
		}
	}

	// Who may create no Pods there cannot tell, nor who may not read the policies.
	weak := person(ctx, t, bare, "weak@"+bare, editor)
	wantUndecided(t, selftest.Admission(ctx, weak, managerNamespace), "cannot be told", "lacks the right to get validatingadmissionpolicies")
}

// Quotas and limits of the usual kind are not what refuses.
func TestSelfTestWithQuotas(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	must(t, admin.Create(ctx, &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limits"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Max: list("2", "2Gi"), Min: list("10m", "16Mi"), MaxLimitRequestRatio: list("1", "1"),
		}}},
	}))
	must(t, admin.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "quota"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourceRequestsCPU: resource.MustParse("4"), corev1.ResourceLimitsMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("4"),
		}},
	}))
	must(t, selftest.Admission(ctx, manager, ns))
}

// Each policy and binding that is away or weakened is named. The other tests need the real ones, so they are only read
// differently.
func TestSelfTestReadsThePolicies(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	must(t, selftest.Policies(ctx, manager, managerUser))
	must(t, selftest.Policies(ctx, manager, ""))

	policies := &admissionregistrationv1.ValidatingAdmissionPolicyList{}
	must(t, admin.List(ctx, policies))
	found := 0
	for _, policy := range policies.Items {
		if !strings.HasPrefix(policy.Name, "motorcortex-") {
			continue
		}
		found++
		without := func(kind client.Object) client.Reader { return reading(kind, policy.Name, nil) }
		wantUnprotected(t, selftest.Policies(ctx, without(&admissionregistrationv1.ValidatingAdmissionPolicy{}), managerUser),
			"the ValidatingAdmissionPolicy "+policy.Name+" is missing", "kubectl apply -k config/default")
		wantUnprotected(t, selftest.Policies(ctx, without(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}), managerUser),
			"the ValidatingAdmissionPolicyBinding "+policy.Name+" is missing")
		wantUnprotected(t, selftest.Policies(ctx, reading(&admissionregistrationv1.ValidatingAdmissionPolicy{}, policy.Name, func(o client.Object) {
			o.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec.FailurePolicy = new(admissionregistrationv1.Ignore)
		}), managerUser), policy.Name, "failurePolicy is Ignore")
		wantUnprotected(t, selftest.Policies(ctx, reading(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, policy.Name, func(o client.Object) {
			o.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Audit}
		}), managerUser), "the ValidatingAdmissionPolicyBinding "+policy.Name+" refuses nothing", "[Audit]")
		wantUnprotected(t, selftest.Policies(ctx, reading(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, policy.Name, func(o client.Object) {
			o.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec.PolicyName = "another"
		}), managerUser), policy.Name, "is for the policy another")
		must(t, selftest.Policies(ctx, reading(&admissionregistrationv1.ValidatingAdmissionPolicy{}, policy.Name, func(o client.Object) {
			o.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec.FailurePolicy = nil
		}), managerUser))
	}
	if found != 25 {
		t.Errorf("%d policies of the operator", found)
	}

	// All that is wrong is said at once.
	wantUnprotected(t, selftest.Policies(ctx, reading(&admissionregistrationv1.ValidatingAdmissionPolicy{}, "", nil), managerUser), "motorcortex-runs is missing", "motorcortex-steps is missing")
	// An installation in another namespace, whose policies were not changed, and an account whose name is the beginning of it.
	for _, other := range []string{"system:serviceaccount:elsewhere:motorcortex-manager", strings.TrimSuffix(managerUser, "r")} {
		wantUnprotected(t, selftest.Policies(ctx, manager, other), "motorcortex-accounts does not name", "motorcortex-steps does not name", other)
	}
}

// reading is the manager's client, but that the object of a name ("" for all) is changed, or missing if nothing changes it.
func reading(kind client.Object, name string, change func(client.Object)) client.Reader {
	_, ofPolicy := kind.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	return interceptor.NewClient(manager, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			_, policy := o.(*admissionregistrationv1.ValidatingAdmissionPolicy)
			if policy != ofPolicy || (name != "" && key.Name != name) {
				return c.Get(ctx, key, o, opts...)
			}
			if change == nil {
				return apierrors.NewNotFound(schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: "things"}, key.Name)
			}
			if err := c.Get(ctx, key, o, opts...); err != nil {
				return err
			}
			change(o)
			return nil
		},
	})
}

func wantUnprotected(t *testing.T, err error, parts ...string) {
	t.Helper()
	wantRefused(t, err, parts...)
	if !errors.Is(err, selftest.ErrUnprotected) {
		t.Errorf("it is not definite: %v", err)
	}
}

func wantUndecided(t *testing.T, err error, parts ...string) {
	t.Helper()
	wantRefused(t, err, parts...)
	if errors.Is(err, selftest.ErrUnprotected) {
		t.Errorf("it is definite: %v", err)
	}
}

// The API server knows every field that this version writes, and the manager may ask.
func TestSchemaIsServed(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	kube, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	must(t, selftest.Schema(ctx, kube.Discovery().RESTClient()))
	doc, err := kube.Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/motorcortex.dev/v1alpha1").DoRaw(ctx)
	must(t, err)
	if !bytes.Contains(doc, []byte("dev.motorcortex.v1alpha1.MotorRun")) {
		t.Error("the manager reads no schema")
	}
}
