// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/sandbox"
)

// policyOf is a NetworkPolicy with that selector and those rules, as people write them.
func policyOf(t *testing.T, namespace, selector, rules string) client.Object {
	t.Helper()
	o := fromYAML(t, namespace, fmt.Sprintf("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p}\nspec: {podSelector: %s, %s}\n", selector, rules))
	return o
}

const (
	egressToAll  = "policyTypes: [Egress], egress: [{}]"
	ingressToAll = "policyTypes: [Ingress], ingress: [{}]"
	closed       = "policyTypes: [Ingress, Egress]"
)

func TestNetworkPoliciesThatOpenSandboxes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	rules := map[string]string{"egress": egressToAll, "ingress": ingressToAll, "both": "egress: [{}], ingress: [{}]", "one port": "policyTypes: [Egress], egress: [{ports: [{port: 53, protocol: UDP}]}]"}
	// Whether a selector may select a sandbox, whatever its run is called and wherever its node is.
	selectors := map[string]bool{
		`{}`: true,
		`{matchLabels: {motorcortex.dev/component: sandbox}}`:                                           true,
		`{matchLabels: {app.kubernetes.io/managed-by: motorcortex}}`:                                    true,
		`{matchLabels: {motorcortex.dev/run: some-run}}`:                                                true,
		`{matchLabels: {motorcortex.dev/run: r, motorcortex.dev/component: sandbox}}`:                   true,
		`{matchLabels: {topology.kubernetes.io/zone: a}}`:                                               true,
		`{matchLabels: {topology.k8s.io/rack: a}}`:                                                      true,
		`{matchExpressions: [{key: motorcortex.dev/component, operator: In, values: [demo, sandbox]}]}`: true,
		`{matchExpressions: [{key: motorcortex.dev/component, operator: Exists}]}`:                      true,
		`{matchExpressions: [{key: motorcortex.dev/component, operator: NotIn, values: [manager]}]}`:    true,
		`{matchExpressions: [{key: motorcortex.dev/run, operator: Exists}]}`:                            true,
		`{matchExpressions: [{key: motorcortex.dev/run, operator: In, values: [a]}]}`:                   true,
		`{matchExpressions: [{key: motorcortex.dev/run, operator: NotIn, values: [a]}]}`:                true,
		`{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}`:                              true,
		`{matchExpressions: [{key: app, operator: DoesNotExist}]}`:                                      true,
		`{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}`:           true,
		`{matchExpressions: [{key: topology.kubernetes.io/zone, operator: DoesNotExist}]}`:              true,
		`{matchLabels: {app: web}}`:                                                                     false,
		`{matchLabels: {app: web, motorcortex.dev/component: sandbox}}`:                                 false,
		`{matchLabels: {motorcortex.dev/component: manager}}`:                                           false,
		`{matchLabels: {app.kubernetes.io/managed-by: Helm}}`:                                           false,
		`{matchExpressions: [{key: motorcortex.dev/component, operator: NotIn, values: [sandbox]}]}`:    false,
		`{matchExpressions: [{key: motorcortex.dev/component, operator: DoesNotExist}]}`:                false,
		`{matchExpressions: [{key: motorcortex.dev/component, operator: In, values: [demo]}]}`:          false,
		// A sandbox that waits in a pool has no run, and one of a run has no pool.
		`{matchExpressions: [{key: motorcortex.dev/run, operator: DoesNotExist}]}`:                                                                        true,
		`{matchLabels: {motorcortex.dev/pool: warm}}`:                                                                                                     true,
		`{matchLabels: {motorcortex.dev/pool: warm, motorcortex.dev/component: sandbox}}`:                                                                 true,
		`{matchExpressions: [{key: motorcortex.dev/pool, operator: In, values: [warm]}]}`:                                                                 true,
		`{matchExpressions: [{key: motorcortex.dev/pool, operator: NotIn, values: [warm]}]}`:                                                              true,
		`{matchExpressions: [{key: motorcortex.dev/pool, operator: Exists}]}`:                                                                             true,
		`{matchExpressions: [{key: motorcortex.dev/pool, operator: DoesNotExist}]}`:                                                                       true,
		`{matchLabels: {motorcortex.dev/pool: warm}, matchExpressions: [{key: motorcortex.dev/run, operator: DoesNotExist}]}`:                             true,
		`{matchLabels: {motorcortex.dev/pool: warm, app: web}}`:                                                                                           false,
		`{matchLabels: {motorcortex.dev/pool: warm}, matchExpressions: [{key: motorcortex.dev/component, operator: NotIn, values: [sandbox]}]}`:           false,
		`{matchExpressions: [{key: motorcortex.dev/run, operator: DoesNotExist}, {key: motorcortex.dev/component, operator: NotIn, values: [sandbox]}]}`:  false,
		`{matchExpressions: [{key: motorcortex.dev/pool, operator: DoesNotExist}, {key: motorcortex.dev/component, operator: NotIn, values: [sandbox]}]}`: false,
		`{matchExpressions: [{key: app, operator: In, values: [web]}]}`:                                                                                   false,
		`{matchExpressions: [{key: app, operator: Exists}]}`:                                                                                              false,
		`{matchLabels: {motorcortex.dev/component: sandbox}, matchExpressions: [{key: app, operator: Exists}]}`:                                           false,
		`{matchLabels: {motorcortex.dev/run: r}, matchExpressions: [{key: motorcortex.dev/run, operator: NotIn, values: [q]}]}`:                           true,
	}
	for selector, selects := range selectors {
		for name, rule := range rules {
			t.Run(selector+" "+name, func(t *testing.T) {
				err := admin.Create(ctx, policyOf(t, ns, selector, rule), client.DryRunAll)
				if selects {
					wantRefused(t, err, "would open the sandboxes", "operator: NotIn, values: [sandbox]")
					return
				}
				must(t, err)
			})
		}
		t.Run(selector+" closed", func(t *testing.T) {
			must(t, admin.Create(ctx, policyOf(t, ns, selector, closed), client.DryRunAll))
		})
	}
}

func TestNetworkPolicyThatIsChanged(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	policy := policyOf(t, ns, "{}", closed)
	must(t, admin.Create(ctx, policy))
	wantRefused(t, admin.Patch(ctx, policy, mergePatchOf(`{"spec":{"egress":[{}]}}`)), "would open the sandboxes")
	must(t, admin.Patch(ctx, policy, mergePatchOf(`{"spec":{"podSelector":{"matchLabels":{"app":"web"}},"egress":[{}]}}`)))
	wantRefused(t, admin.Patch(ctx, policy, mergePatchOf(`{"spec":{"podSelector":{"matchLabels":null}}}`)), "would open the sandboxes")

	// One that is older than the rule keeps its place, and everything but its spec can be changed.
	old := policyOf(t, ns, "{}", egressToAll)
	old.SetName("old")
	must(t, manager.Create(ctx, old))
	must(t, admin.Patch(ctx, old, mergePatchOf(`{"metadata":{"labels":{"team":"a"}}}`)))
	wantRefused(t, admin.Patch(ctx, old, mergePatchOf(`{"spec":{"ingress":[{}]}}`)), "would open the sandboxes")
	must(t, admin.Delete(ctx, old))
}

func TestNetworkPoliciesOfTheOperator(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	baseline := sandbox.BaselineNetworkPolicy(ns, sandbox.Config{Namespace: managerNamespace})
	const ours = "no other client writes them"
	wantRefused(t, admin.Create(ctx, baseline.DeepCopy()), ours)
	must(t, manager.Create(ctx, baseline))
	wantRefused(t, admin.Patch(ctx, baseline.DeepCopy(), mergePatchOf(`{"spec":{"policyTypes":["Ingress"]}}`)), ours)
	wantRefused(t, admin.Patch(ctx, baseline.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":null}}}`)), ours)
	foreign := policyOf(t, ns, "{matchLabels: {app: web}}", closed)
	must(t, admin.Create(ctx, foreign))
	wantRefused(t, admin.Patch(ctx, foreign, mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"sandbox"}}}`)), ours)
	gc, err := clientAs("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	must(t, err)
	must(t, gc.Patch(ctx, baseline.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":["foregroundDeletion"]}}`)))
	must(t, gc.Patch(ctx, baseline.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":null}}`)))
	// Deleting stays free: a namespace must be able to go.
	must(t, admin.Delete(ctx, baseline))
}

func TestNetworkPoliciesOfAnOpenNamespace(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, "motorcortex.dev/sandbox-networkpolicies", "allowed")
	must(t, admin.Create(ctx, policyOf(t, ns, "{}", egressToAll)))
	must(t, admin.Create(ctx, &networkingv1.NetworkPolicy{
		ObjectMeta: meta(ns, "labelled"), Spec: sandbox.BaselineNetworkPolicy(ns, sandbox.Config{}).Spec,
	}))
}
