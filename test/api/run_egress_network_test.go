// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/internal/controller/network"
)

func facts(ctx context.Context, t *testing.T) (version string, prefixes []netip.Prefix) {
	t.Helper()
	var cm corev1.ConfigMap
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: network.FactsName}, &cm))
	must(t, json.Unmarshal([]byte(cm.Data[network.FactsKey]), &prefixes))
	return cm.ResourceVersion, prefixes
}

// It is not parallel: there is one such ConfigMap, and one set of nodes.
func TestNetworkFacts(t *testing.T) {
	ctx := testContext(t)
	node := &corev1.Node{ObjectMeta: meta("", "node-of-the-facts"), Spec: corev1.NodeSpec{PodCIDR: "198.18.3.0/24", PodCIDRs: []string{"198.18.3.0/24", "2001:db8:3::/64"}}}
	must(t, admin.Create(ctx, node))
	t.Cleanup(func() { _ = admin.Delete(context.Background(), node) })
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "198.51.100.7"}, {Type: corev1.NodeInternalIP, Address: "2001:db8::7"}, {Type: corev1.NodeHostName, Address: "node"},
	}
	must(t, admin.Status().Update(ctx, node))
	service := &corev1.Service{ObjectMeta: meta(newNamespace(ctx, t), "outside"), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 443}}, ExternalIPs: []string{"198.51.100.9"},
	}}
	must(t, admin.Create(ctx, service))
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "8.8.8.77"}, {Hostname: "lb.example.org"}}
	must(t, admin.Status().Update(ctx, service))
	f := &network.Facts{Client: manager, Live: manager, Namespace: managerNamespace, Forbidden: []netip.Prefix{netip.MustParsePrefix("203.0.113.77/24")}}
	must(t, f.Refresh(ctx))
	version, got := facts(ctx, t)
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: "default", Name: "kubernetes"}, service))
	for _, want := range []string{
		"198.51.100.7/32", "2001:db8::7/128", "198.18.3.0/24", "2001:db8:3::/64", "203.0.113.0/24", "8.8.8.77/32", "198.51.100.9/32", service.Spec.ClusterIP + "/32", "10.0.0.0/24",
	} {
		if !slices.Contains(got, netip.MustParsePrefix(want)) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
	if !slices.IsSortedFunc(got, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) }) {
		t.Errorf("not sorted: %v", got)
	}
	must(t, f.Refresh(ctx))
	if again, _ := facts(ctx, t); again != version {
		t.Error("written again without a change")
	}
	own, inner, err := f.Cluster(ctx)
	must(t, err)
	for list, wants := range map[*[]netip.Prefix][]string{
		&own: {"198.51.100.7/32", "203.0.113.0/24", service.Spec.ClusterIP + "/32"}, &inner: {"198.18.3.0/24", "2001:db8:3::/64", "10.0.0.0/24", "8.8.8.77/32", "198.51.100.9/32"},
	} {
		for _, want := range wants {
			if !slices.Contains(*list, netip.MustParsePrefix(want)) {
				t.Errorf("%s is not among %v", want, *list)
			}
		}
	}
	if slices.Contains(own, netip.MustParsePrefix("198.18.3.0/24")) {
		t.Errorf("the Pods' network is among %v", own)
	}

	unreadable := func(err error) *network.Facts {
		return &network.Facts{Client: manager, Namespace: managerNamespace, Live: interceptor.NewClient(manager, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if _, ok := list.(*corev1.NodeList); ok {
					return err
				}
				return c.List(ctx, list, opts...)
			},
		})}
	}
	if err := unreadable(errors.New("connection refused")).Refresh(ctx); err == nil {
		t.Error("no error")
	}
	if again, _ := facts(ctx, t); again != version {
		t.Error("a list that is too short was written because the API server was away")
	}
	must(t, unreadable(apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)).Refresh(ctx))
	_, got = facts(ctx, t)
	if slices.Contains(got, netip.MustParsePrefix("198.51.100.7/32")) || !slices.Contains(got, netip.MustParsePrefix(service.Spec.ClusterIP+"/32")) {
		t.Errorf("without the right to read nodes: %v", got)
	}
}
