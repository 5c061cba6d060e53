// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// CiliumPolicyName returns the name, in the operator's namespace, of the CiliumNetworkPolicy of a run.
func CiliumPolicyName(run *v1alpha1.MotorRun) string {
	return "motorcortex-egress-" + string(run.UID)
}

// CiliumPolicy builds a CiliumNetworkPolicy that lets the egress proxy reach the run's domains, as the content of an unstructured object. It is a
// second wall behind the proxy's own list, on networks that Cilium runs. Policies add up, so the proxy may reach whatever any run may. The caller
// sets the owner.
//
// The first such policy closes every other way out of the proxy. So each policy opens what the proxy itself needs: the API server, and the lookup
// of these names, by which Cilium learns their addresses. Below a wildcard's domain Cilium allows names of any depth from its version 1.19 on, and
// of one label before.
func CiliumPolicy(run *v1alpha1.MotorRun, domains []v1alpha1.Domain, cfg Config) map[string]any {
	names, byPort := []any{}, map[int][]any{}
	for _, d := range domains {
		selector, port := ciliumName(d)
		names, byPort[port] = append(names, selector), append(byPort[port], selector)
	}
	egress := []any{map[string]any{"toEntities": []any{"kube-apiserver"}}}
	if len(names) > 0 {
		egress = append(egress, map[string]any{
			"toEndpoints": []any{map[string]any{"matchLabels": map[string]any{
				"k8s:io.kubernetes.pod.namespace": "kube-system", "k8s:k8s-app": "kube-dns",
			}}},
			"toPorts": []any{map[string]any{
				"ports": []any{map[string]any{"port": "53", "protocol": "ANY"}},
				"rules": map[string]any{"dns": names},
			}},
		})
	}
	for _, port := range slices.SortedFunc(maps.Keys(byPort), cmp.Compare[int]) {
		egress = append(egress, map[string]any{
			"toFQDNs": byPort[port],
			"toPorts": []any{map[string]any{"ports": []any{map[string]any{"port": strconv.Itoa(port), "protocol": "TCP"}}}},
		})
	}
	selected := map[string]any{}
	for k, v := range ProxyLabels() {
		selected["k8s:"+k] = v
	}
	return map[string]any{
		"apiVersion": "cilium.io/v2",
		"kind":       "CiliumNetworkPolicy",
		"metadata": map[string]any{
			"name":      CiliumPolicyName(run),
			"namespace": cfg.Namespace,
			"labels": map[string]any{
				v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant,
				v1alpha1.LabelRunUID:    string(run.UID),
				v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
			},
		},
		"spec": map[string]any{
			"description":      "What the run " + run.Namespace + "/" + run.Name + " may reach through the egress proxy.",
			"endpointSelector": map[string]any{"matchLabels": selected},
			"egress":           egress,
		},
	}
}

// ciliumName returns the FQDN selector and the port of a domain as runpolicy.Domains writes it.
func ciliumName(d v1alpha1.Domain) (selector map[string]any, port int) {
	const httpsPort = 443
	name, digits, _ := strings.Cut(string(d), ":")
	port, err := strconv.Atoi(digits)
	if err != nil {
		port = httpsPort
	}
	if base, wildcard := strings.CutPrefix(name, "*."); wildcard {
		return map[string]any{"matchPattern": "**." + base}, port
	}
	return map[string]any{"matchName": name}, port
}
