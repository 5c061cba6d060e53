// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

// object is any Kubernetes object. There are too few of them here to depend on their Go types.
type object = map[string]any

// manifest is an object with the path of the API that it belongs to.
type manifest struct {
	path   string
	object object
}

// manifests lists what the cluster needs in its API: the DNS service, whose server runs on the node
// and not in a Pod, and what the node's programs may read.
func manifests() []manifest {
	const services, rbac = "/api/v1/namespaces/kube-system/services/", "/apis/rbac.authorization.k8s.io/v1/"
	read := []string{"get", "list", "watch"}
	return []manifest{
		{services + "kube-dns", object{
			"apiVersion": "v1", "kind": "Service",
			"metadata": object{"labels": object{"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"}},
			"spec": object{"clusterIP": dnsService, "ports": []object{
				{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
			}},
		}},
		{"/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/kube-dns", object{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
			"metadata": object{"labels": object{
				"kubernetes.io/service-name": "kube-dns", "endpointslice.kubernetes.io/managed-by": "devcluster",
			}},
			"endpoints": []object{{"addresses": []string{nodeIP}, "conditions": object{"ready": true}}},
			"ports": []object{
				{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
			},
		}},
		{rbac + "clusterroles/devcluster:network", object{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
			"rules": []object{
				{"apiGroups": []string{""}, "resources": []string{"pods", "services", "endpoints", "namespaces", "nodes"}, "verbs": read},
				{"apiGroups": []string{"networking.k8s.io"}, "resources": []string{"networkpolicies"}, "verbs": read},
				{"apiGroups": []string{"discovery.k8s.io"}, "resources": []string{"endpointslices"}, "verbs": read},
			},
		}},
		clusterBinding("devcluster:network", "devcluster:network", "devcluster:kube-router", "devcluster:coredns"),
		clusterBinding("devcluster:kubelet-api", "system:kubelet-api-admin", "devcluster:apiserver"),
	}
}

func clusterBinding(name, role string, users ...string) manifest {
	const group = "rbac.authorization.k8s.io"
	var subjects []object
	for _, user := range users {
		subjects = append(subjects, object{"apiGroup": group, "kind": "User", "name": user})
	}
	return manifest{"/apis/" + group + "/v1/clusterrolebindings/" + name, object{
		"apiVersion": group + "/v1", "kind": "ClusterRoleBinding",
		"roleRef": object{"apiGroup": group, "kind": "ClusterRole", "name": role}, "subjects": subjects,
	}}
}

// applyManifests is repeated for a while: some of the API is not yet served when the server is ready.
func (c *Cluster) applyManifests(ctx context.Context) error {
	api, err := c.api()
	if err != nil {
		return err
	}
	return wait.Until(ctx, startDeadline, 100*time.Millisecond, func(ctx context.Context) error {
		for _, m := range manifests() {
			if err := api.apply(ctx, m.path, m.object); err != nil {
				return err
			}
		}
		return nil
	})
}
