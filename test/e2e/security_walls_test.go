// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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
			respond(t, lost, lost.Status.Pending().ID, "yes")
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
	pool := newPool(t, "pool-open", 1)
	ended := awaitEnd(t, run, 2*soon)
	if open := awaitPool(t, pool, v1alpha1.ReasonIsolationUnverified); open.Status.ReadyReplicas != 0 {
		t.Errorf("a pool whose sandboxes are open offers some: %+v", open.Status)
	}
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

// No Service leads into a sandbox, and services/proxy finds none that does: not by the sandbox's labels, nor by endpoints that
// name it.
func TestSecurityServicesLeadIntoNoSandbox(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, "services")
	kubectl(t, "label", "namespace", ns, v1alpha1.LabelSandboxExec+"-")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}))
	asked := awaitQuestion(t, startRun(t, "ask", inNamespace(ns)))
	var pod corev1.Pod
	must(t, suite.client.Get(t.Context(), sandboxOf(asked), &pod))
	for name, manifest := range map[string]string{
		"Service": `
apiVersion: v1
kind: Service
metadata: {name: leak, namespace: ` + ns + `}
spec: {selector: {motorcortex.dev/component: sandbox}, ports: [{port: 8443}]}
`,
		"headless Service": `
apiVersion: v1
kind: Service
metadata: {name: leak, namespace: ` + ns + `}
spec: {clusterIP: None, selector: {motorcortex.dev/run: ` + asked.Name + `}, ports: [{port: 8443}]}
`,
		"EndpointSlice": `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: leak, namespace: ` + ns + `, labels: {kubernetes.io/service-name: leak}}
addressType: IPv4
ports: [{port: 8443}]
endpoints: [{addresses: ["` + pod.Status.PodIP + `"], targetRef: {kind: Pod, namespace: ` + ns + `, name: ` + pod.Name + `}}]
`,
		"Endpoints": `
apiVersion: v1
kind: Endpoints
metadata: {name: leak, namespace: ` + ns + `}
subsets: [{addresses: [{ip: "` + pod.Status.PodIP + `", targetRef: {kind: Pod, namespace: ` + ns + `, name: ` + pod.Name + `}}], ports: [{port: 8443}]}]
`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, stderr, err := tryKubectl(t.Context(), manifest, "create", "-f", "-"); err == nil || !strings.Contains(stderr, "no user gets into one") {
				t.Errorf("%v\n%s", err, stderr)
			}
		})
	}
	if out, _, err := tryKubectl(t.Context(), "", "get", "--raw", "/api/v1/namespaces/"+ns+"/services/https:leak:8443/proxy/"); err == nil {
		t.Errorf("services/proxy answers: %s", out)
	}
	// The controllers of the cluster go on with everybody else's Services.
	kubectl(t, "-n", ns, "create", "service", "clusterip", "web", "--tcp=80")
	err := await(t.Context(), soon, &discoveryv1.EndpointSliceList{}, []client.ListOption{client.InNamespace(ns)}, func(ctx context.Context) (bool, error) {
		var slices discoveryv1.EndpointSliceList
		err := suite.client.List(ctx, &slices, client.InNamespace(ns), client.MatchingLabels{discoveryv1.LabelServiceName: "web"})
		return len(slices.Items) > 0, err
	})
	if err != nil {
		t.Errorf("a Service without Pods gets no EndpointSlice: %v", err)
	}
	wantNothingElseLeft(t)
}
