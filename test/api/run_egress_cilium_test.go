// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/sandbox"
)

// The kind is Cilium's; what this API server knows of it is no more than its name.
func TestEgressSecondWall(t *testing.T) {
	r := egressRig(t, reaching("example.org", "*.example.com:8443"))
	r.rec.Config.CiliumPolicies = true
	r.step()
	r.play(running)
	// Without the kind the run goes on without the wall.
	r.settle()
	if !has(r.run().Status.Conditions, "EgressReady") {
		t.Fatal("the run has no way out")
	}

	must(t, client.IgnoreAlreadyExists(admin.Create(r.ctx, ciliumCRD())))
	allowCilium(r)
	run := r.run()
	want := sandbox.CiliumPolicy(run, run.Spec.Domains, r.rec.Config.Sandbox)
	wall := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("cilium.io/v2")
		u.SetKind("CiliumNetworkPolicy")
		err := wait.PollUntilContextCancel(r.ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			r.step()
			return admin.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: sandbox.CiliumPolicyName(run)}, u) == nil &&
				cmp.Equal(u.Object["spec"], want["spec"]), nil
		})
		if err != nil {
			t.Fatalf("no policy as it must be: %v\n%v", err, u.Object)
		}
		return u
	}
	made := wall()
	secret, _ := r.grantOf()
	if owners := made.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != secret.UID || owners[0].Kind != "Secret" {
		t.Errorf("it does not go with the grant: %+v", owners)
	}
	must(t, unstructured.SetNestedSlice(made.Object, nil, "spec", "egress"))
	must(t, admin.Update(r.ctx, made))
	wall()
}

func has(conditions []metav1.Condition, conditionType string) bool {
	for _, c := range conditions {
		if c.Type == conditionType && c.Status == metav1.ConditionTrue {
			return true
		}
	}
	return false
}

func ciliumCRD() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "ciliumnetworkpolicies.cilium.io"},
		"spec": map[string]any{
			"group": "cilium.io", "scope": "Namespaced",
			"names": map[string]any{"plural": "ciliumnetworkpolicies", "singular": "ciliumnetworkpolicy", "kind": "CiliumNetworkPolicy", "listKind": "CiliumNetworkPolicyList"},
			"versions": []any{map[string]any{
				"name": "v2", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

// allowCilium grants the manager the right of config/cilium, and waits until the API server knows.
func allowCilium(r *rig) {
	r.t.Helper()
	name := "cilium-" + r.ns
	must(r.t, admin.Create(r.ctx, &rbacv1.Role{ObjectMeta: meta(managerNamespace, name), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"cilium.io"}, Resources: []string{"ciliumnetworkpolicies"}, Verbs: []string{"get", "create", "update"},
	}}}))
	must(r.t, admin.Create(r.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta(managerNamespace, name), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: managerUser}},
	}))
	awaitRight(r.ctx, r.t, managerUser, authorizationv1.ResourceAttributes{
		Namespace: managerNamespace, Group: "cilium.io", Resource: "ciliumnetworkpolicies", Verb: "create",
	})
}
