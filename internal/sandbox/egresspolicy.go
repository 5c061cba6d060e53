// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// maxDomainsText is the most bytes of the annotation that lists the domains of a run.
const maxDomainsText = 32 << 10

// ProxyLabels select the Pods of the egress proxy; config/egressproxy sets them.
func ProxyLabels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":      "motorcortex",
		"app.kubernetes.io/component": "egressproxy",
	}
}

// EgressPolicyName returns the name of the NetworkPolicy that opens the run's way to the egress proxy.
func EgressPolicyName(run *v1alpha1.MotorRun) string { return run.Name + "-egress" }

// EgressNetworkPolicy builds the policy that lets the run's sandbox reach the egress proxy and nothing else. The policy does not decide which
// domains the proxy lets the sandbox reach: the annotation lists them for people.
func EgressNetworkPolicy(run *v1alpha1.MotorRun, domains []v1alpha1.Domain, cfg Config) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Name:      EgressPolicyName(run),
			Namespace: run.Namespace,
			Labels:    labels(run),
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun")),
			},
			Annotations: map[string]string{v1alpha1.AnnotationDomains: domainsText(domains)},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{
				v1alpha1.LabelComponent: v1alpha1.ComponentSandbox,
				v1alpha1.LabelRun:       run.Name,
			}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{{
				To: []networkingv1.NetworkPolicyPeer{{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
						corev1.LabelMetadataName: cfg.Namespace,
					}},
					PodSelector: &metav1.LabelSelector{MatchLabels: ProxyLabels()},
				}},
				Ports: []networkingv1.NetworkPolicyPort{{
					Protocol: ptr.To(corev1.ProtocolTCP),
					Port:     new(intstr.FromInt32(grant.Port)),
				}},
			}},
		},
	}
}

// domainsText lists domains, cut where the annotation would be too long.
func domainsText(domains []v1alpha1.Domain) string {
	const more = ", …"
	var b strings.Builder
	for i, d := range domains {
		if b.Len()+len(", ")+len(d)+len(more) > maxDomainsText {
			return b.String() + more
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(d))
	}
	return b.String()
}

// SamePolicy reports whether an existing NetworkPolicy allows the same traffic as the built one, has the same identifying labels and the same
// owner. Labels of others and all annotations make no difference: see SameDomains.
func SamePolicy(have, want *networkingv1.NetworkPolicy) bool {
	for k, v := range want.Labels {
		if have.Labels[k] != v {
			return false
		}
	}
	return equality.Semantic.DeepEqual(have.OwnerReferences, want.OwnerReferences) && equality.Semantic.DeepEqual(have.Spec, want.Spec)
}

// SameDomains reports whether both policies list the same domains.
func SameDomains(have, want *networkingv1.NetworkPolicy) bool {
	return have.Annotations[v1alpha1.AnnotationDomains] == want.Annotations[v1alpha1.AnnotationDomains]
}
