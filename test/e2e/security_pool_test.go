// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// A sandbox from a pool reaches what its run may reach, from its first call on, and nothing else. The others of its pool are no way either.
func TestSecuritySandboxesOfAPool(t *testing.T) {
	t.Parallel()
	ns, pool := pooledNamespace(t, "pool-closed", 2)
	var waiting corev1.PodList
	must(t, suite.client.List(t.Context(), &waiting, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelPool: pool.Name}))
	if len(waiting.Items) != 2 {
		t.Fatalf("the pool has %d sandboxes", len(waiting.Items))
	}
	direct := `
for round in 1 2 3; do
  for at in 45.45.45.66/443 45.45.45.53/53 10.96.0.1/443 10.96.0.10/53 %s/8443 %s/8443; do
    timeout 1 bash -c ": <>/dev/tcp/$at" 2>/dev/null && [ "${at%%/*}" != "$(hostname -i)" ] && echo "reached $at" &
  done
  wait
done
`
	direct = fmt.Sprintf(direct, waiting.Items[0].Status.PodIP, waiting.Items[1].Status.PodIP)
	out := startRun(t, "case", inNamespace(ns), withDomains("allowed.test"), withScript("case.sh", direct+`
echo "allowed $(tunnel https://allowed.test/)"
echo "evil $(tunnel https://evil.test/)"
`))
	closed := startRun(t, "case", inNamespace(ns), withScript("case.sh", direct+`echo "proxy ${HTTPS_PROXY:-none}"`))
	for run, want := range map[*v1alpha1.MotorRun][]string{out: {"allowed 200 200", "evil 403 000"}, closed: {"proxy none"}} {
		done := wantCompleted(t, run, 2*soon)
		wantSaid(t, done, 0, want...)
		wantCondition(t, done, v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified)
		taken, err := steps(t.Context(), run)
		must(t, err)
		if in := taken[0].Spec.Sandbox; in == nil || !slices.ContainsFunc(waiting.Items, func(p corev1.Pod) bool { return string(p.UID) == in.PodUID }) {
			t.Errorf("the run %s was not carried out in a sandbox of the pool: %+v", run.Name, in)
		}
	}
	wantNothingElseLeft(t)
}

// While the closing policy of a pool is away no sandbox is offered. Each is proved again, and none is lost.
func TestSecurityClosingPolicyOfAPoolIsDeleted(t *testing.T) {
	t.Parallel()
	ns, pool := pooledNamespace(t, "pool-policy", 2)
	before := pooled(t, pool)
	key := types.NamespacedName{Namespace: ns, Name: sandbox.BaselineName}
	var policy networkingv1.NetworkPolicy
	must(t, suite.client.Get(t.Context(), key, &policy))
	must(t, suite.client.Delete(t.Context(), &policy))
	awaitPool(t, pool, v1alpha1.ReasonPoolFilling)
	awaitPool(t, pool, v1alpha1.ReasonPoolFull)
	var again networkingv1.NetworkPolicy
	must(t, suite.client.Get(t.Context(), key, &again))
	if again.UID == policy.UID {
		t.Error("the policy is the one that was deleted")
	}
	if after := pooled(t, pool); !maps.Equal(before, after) {
		t.Errorf("the pool had %v, and has %v", before, after)
	}
	run := startRun(t, "case", inNamespace(ns), withScript("case.sh", `timeout 1 bash -c ': <>/dev/tcp/45.45.45.66/443' 2>/dev/null && echo reached; echo closed`))
	wantSaid(t, wantCompleted(t, run, 2*soon), 0, "closed")
	wantNothingElseLeft(t)
}
