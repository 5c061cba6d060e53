// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// BaselineName is the name of the NetworkPolicy that every namespace with sandboxes has.
const BaselineName = "motorcortex-sandbox-baseline"

// ManagerLabels select the manager's Pods; config/manager sets them.
func ManagerLabels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":      "motorcortex",
		"app.kubernetes.io/component": "manager",
	}
}

// BaselineNetworkPolicy builds the policy that closes every sandbox of a namespace: no way out at all, and one way in, from the manager's Pods to
// the tool server. It has no owner, so that the end of one run does not open the sandboxes of others.
func BaselineNetworkPolicy(namespace string, cfg Config) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Name:      BaselineName,
			Namespace: namespace,
			Labels: map[string]string{
				v1alpha1.LabelComponent: v1alpha1.ComponentSandbox,
				v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
			},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{
				v1alpha1.LabelComponent: v1alpha1.ComponentSandbox,
			}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
						corev1.LabelMetadataName: cfg.Namespace,
					}},
					PodSelector: &metav1.LabelSelector{MatchLabels: ManagerLabels()},
				}},
				Ports: []networkingv1.NetworkPolicyPort{{
					Protocol: ptr.To(corev1.ProtocolTCP),
					Port:     new(intstr.FromInt32(toolapi.Port)),
				}},
			}},
		},
	}
}
