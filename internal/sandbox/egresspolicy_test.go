// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func testDomains() []v1alpha1.Domain {
	return []v1alpha1.Domain{"example.org", "*.example.net", "registry.example.com:8443"}
}

func TestGoldenEgressPolicy(t *testing.T) {
	t.Parallel()
	golden(t, "egresspolicy.golden.yaml", EgressNetworkPolicy(testRun(), testDomains(), testConfig()))
}

func TestSamePolicy(t *testing.T) {
	t.Parallel()
	type policy = networkingv1.NetworkPolicy
	built := map[string]*policy{
		"egress": EgressNetworkPolicy(testRun(), testDomains(), testConfig()), "baseline": BaselineNetworkPolicy("agents", testConfig()),
	}
	tests := map[string]struct {
		change func(*policy)
		same   bool
	}{
		"as it is":            {func(*policy) {}, true},
		"as it was stored":    {func(p *policy) { p.UID, p.ResourceVersion, p.Generation = "u", "1", 3 }, true},
		"a foreign label":     {func(p *policy) { p.Labels["team"] = "a" }, true},
		"another annotation":  {func(p *policy) { p.Annotations = map[string]string{"a": "b"} }, true},
		"empty for nil":       {func(p *policy) { p.Spec.PodSelector.MatchExpressions = []metav1.LabelSelectorRequirement{} }, true},
		"a label less":        {func(p *policy) { delete(p.Labels, v1alpha1.LabelManagedBy) }, false},
		"another label":       {func(p *policy) { p.Labels[v1alpha1.LabelComponent] = "x" }, false},
		"selects nothing":     {func(p *policy) { p.Spec.PodSelector.MatchLabels["x"] = "y" }, false},
		"selects more":        {func(p *policy) { p.Spec.PodSelector = metav1.LabelSelector{} }, false},
		"another type":        {func(p *policy) { p.Spec.PolicyTypes = []networkingv1.PolicyType{"Ingress"} }, false},
		"one more way out":    {func(p *policy) { p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{}) }, false},
		"one more way in":     {func(p *policy) { p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{}) }, false},
		"goes with something": {func(p *policy) { p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{UID: "other"}) }, false},
	}
	for kind, want := range built {
		for name, tt := range tests {
			have := want.DeepCopy()
			if tt.change(have); SamePolicy(have, want) != tt.same {
				t.Errorf("%s, %s: same is %t", kind, name, !tt.same)
			}
		}
	}
	for name, change := range map[string]func(*policy){
		"no owner":         func(p *policy) { p.OwnerReferences = nil },
		"any proxy":        func(p *policy) { p.Spec.Egress[0].To[0].PodSelector = nil },
		"any namespace":    func(p *policy) { p.Spec.Egress[0].To[0].NamespaceSelector = &metav1.LabelSelector{} },
		"anybody":          func(p *policy) { p.Spec.Egress[0].To = nil },
		"any port":         func(p *policy) { p.Spec.Egress[0].Ports = nil },
		"another port":     func(p *policy) { p.Spec.Egress[0].Ports[0].Port = new(intstr.FromInt32(443)) },
		"a range of ports": func(p *policy) { p.Spec.Egress[0].Ports[0].EndPort = ptr.To[int32](65535) },
		"another protocol": func(p *policy) { p.Spec.Egress[0].Ports[0].Protocol = ptr.To(corev1.ProtocolUDP) },
	} {
		have := built["egress"].DeepCopy()
		if change(have); SamePolicy(have, built["egress"]) {
			t.Errorf("%s: the same", name)
		}
	}
}

func TestSameDomains(t *testing.T) {
	t.Parallel()
	want := EgressNetworkPolicy(testRun(), testDomains(), testConfig())
	have := EgressNetworkPolicy(testRun(), testDomains()[:2], testConfig())
	if SameDomains(have, want) || !SamePolicy(have, want) || !SameDomains(want.DeepCopy(), want) {
		t.Error("the domains are compared, and by themselves")
	}
}

func TestDomainsTextIsBounded(t *testing.T) {
	t.Parallel()
	var many []v1alpha1.Domain
	for i := range 300 {
		many = append(many, v1alpha1.Domain(fmt.Sprintf("%s%d.example.org", strings.Repeat("d", 200), i)))
	}
	got := domainsText(many)
	if len(got) > maxDomainsText || len(got) < maxDomainsText-300 || !strings.HasSuffix(got, ", …") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-20:])
	}
	if got := domainsText(many[:2]); got != string(many[0]+", "+many[1]) {
		t.Errorf("two domains are %q", got)
	}
}
