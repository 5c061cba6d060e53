// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestSecurityPolicyIsDeleted(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"baseline", "run"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			ns := newNamespace(t, "policy")
			must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}))
			run := startRun(t, "case-ask", inNamespace(ns), withDomains("allowed.test"),
				withScript("case.sh", `echo "$(tunnel https://allowed.test/)"`), withScript("after.sh", `echo "$(tunnel https://allowed.test/)"`))
			asked := awaitQuestion(t, run)
			wantSaid(t, asked, 0, "200 200")
			name := map[string]string{"baseline": "motorcortex-sandbox-baseline", "run": run.Name + "-egress"}[policy]
			key := types.NamespacedName{Namespace: ns, Name: name}
			var before networkingv1.NetworkPolicy
			must(t, suite.client.Get(t.Context(), key, &before))
			must(t, suite.client.Delete(t.Context(), &before))
			err := await(t.Context(), soon, &networkingv1.NetworkPolicyList{}, one(key), func(ctx context.Context) (bool, error) {
				var now networkingv1.NetworkPolicy
				if err := suite.client.Get(ctx, key, &now); err != nil {
					return false, client.IgnoreNotFound(err)
				}
				return now.UID != before.UID, nil
			})
			if err != nil {
				t.Fatalf("the policy %s was not restored: %v", name, err)
			}
			lost := awaitRun(t, run, soon, "IsolationLost", func(r *v1alpha1.MotorRun) bool {
				return condition(r, v1alpha1.ConditionIsolationVerified).Reason == v1alpha1.ReasonIsolationLost
			})
			respond(t, lost, lost.Status.PendingInput.ID, "yes")
			done := wantCompleted(t, run, 2*soon)
			wantSaid(t, done, 1, "200 200")
			wantCondition(t, done, v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified)
		})
	}
}

// Without an enforcer of NetworkPolicies, every new sandbox stays open, and nothing is run in it.
func TestSecurityUnenforcedClusterRefusesRuns(t *testing.T) {
	start := stopComponent(t, "kube-router")
	run := startRun(t, "case", withScript("case.sh", "echo ran"))
	ended := awaitEnd(t, run, 2*soon)
	start()
	wantCondition(t, ended, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, v1alpha1.ReasonIsolationRefused)
	wantCondition(t, ended, v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonIsolationUnverified)
	for _, what := range []string{"API server", "NetworkPolicy"} {
		if m := condition(ended, v1alpha1.ConditionIsolationVerified).Message; !strings.Contains(m, what) {
			t.Errorf("the message does not name %q: %s", what, m)
		}
	}
	if outputs := said(t, ended); len(outputs) > 0 {
		t.Errorf("something was run: %q", outputs)
	}
}

func TestSecurityWallsCannotBeOpened(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, "walls")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}))
	asked := awaitQuestion(t, startRun(t, "ask", inNamespace(ns)))
	pod := sandboxOf(asked).Name
	kubectl(t, "label", "namespace", ns, v1alpha1.LabelSandboxExec+"-", v1alpha1.LabelSandboxNetworkPolicies+"-")
	for name, args := range map[string][]string{
		"exec":         {"exec", pod, "--", "true"},
		"attach":       {"attach", pod},
		"port-forward": {"port-forward", "pod/" + pod, ":8443"},
		"ephemeral":    {"debug", pod, "--image=" + suite.sandboxImage, "--", "true"},
		"relabel":      {"label", "--overwrite", "pod", pod, v1alpha1.LabelComponent + "=other"},
		"new label":    {"label", "pod", pod, "app=open"},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, err := tryKubectl(t.Context(), "", append([]string{"-n", ns}, args...)...)
			if err == nil || !strings.Contains(stderr, "denied") && !strings.Contains(stderr, "Forbidden") && !strings.Contains(stderr, "forbidden") {
				t.Errorf("%v\n%s", err, stderr)
			}
		})
	}
	for name, selector := range map[string]string{
		"all": "{}", "component": "{matchLabels: {motorcortex.dev/component: sandbox}}", "in": "{matchExpressions: [{key: motorcortex.dev/run, operator: Exists}]}",
	} {
		t.Run("additive policy "+name, func(t *testing.T) {
			_, stderr, err := tryKubectl(t.Context(), `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: open, namespace: `+ns+`}
spec: {podSelector: `+selector+`, policyTypes: [Egress], egress: [{}]}
`, "create", "-f", "-")
			if err == nil || !strings.Contains(stderr, "sandbox") {
				t.Errorf("%v\n%s", err, stderr)
			}
		})
	}
	wantNothingElseLeft(t)
}
