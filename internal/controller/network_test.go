// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oneService is a cluster that shows one Service and forbids to read everything else.
type oneService struct{ corev1.Service }

func (o oneService) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
}

func (o oneService) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if services, ok := list.(*corev1.ServiceList); ok {
		services.Items = []corev1.Service{o.Service}
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
}

// A network in the IPv4-mapped form is the IPv4 network that it means: in that form it would contain no address that is looked at.
func TestNetworksAreUnmapped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"::ffff:10.1.2.3": "10.1.2.3/32", "10.1.2.3": "10.1.2.3/32", "fe80::1%eth0": "fe80::1/128", "fd00::1": "fd00::1/128",
		"::ffff:10.1.0.0/112": "10.1.0.0/16", "10.1.2.3/16": "10.1.0.0/16", "fd00::1/64": "fd00::/64", "::ffff:0.0.0.0/96": "0.0.0.0/0",
	} {
		list := networks{}
		list.address(text)
		list.cidrs(text)
		if got := list.sorted(); len(got) != 1 || got[0].String() != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// One Service with many addresses crowds out nothing: the list has to fit into a ConfigMap.
func TestAddressesOfServicesAreBounded(t *testing.T) {
	t.Parallel()
	var service corev1.Service
	address := netip.MustParseAddr("2001:db8::")
	for range 2 * addressesOfNamespace {
		address = address.Next()
		service.Spec.ExternalIPs = append(service.Spec.ExternalIPs, address.String())
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "8.8.8.77"}}
	f := &NetworkFacts{Live: oneService{service}, WithoutNodes: true}
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(string, string) {}, funcr.Options{}))
	_, inner, err := f.Cluster(ctx)
	if err != nil || len(inner) != addressesOfNamespace || !slices.Contains(inner, netip.MustParsePrefix("8.8.8.77/32")) {
		t.Errorf("%d addresses, %v", len(inner), err)
	}
}

func TestClusterHasExternalAddressesOfServices(t *testing.T) {
	t.Parallel()
	service := corev1.Service{
		Spec: corev1.ServiceSpec{ExternalIPs: []string{"198.51.100.9"}, LoadBalancerIP: "9.9.9.9"},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{
			Ingress: []corev1.LoadBalancerIngress{{IP: "8.8.8.77"}, {Hostname: "lb.example.org"}, {IP: "2001:db8::9"}},
		}},
	}
	var log []string
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, line string) { log = append(log, line) }, funcr.Options{}))
	f := &NetworkFacts{Live: oneService{service}, WithoutNodes: true}
	want := []netip.Prefix{netip.MustParsePrefix("8.8.8.77/32"), netip.MustParsePrefix("198.51.100.9/32"), netip.MustParsePrefix("2001:db8::9/128")}
	for range 2 {
		own, inner, err := f.Cluster(ctx)
		if err != nil || len(own) > 0 || !slices.Equal(inner, want) {
			t.Errorf("got %v, %v, %v", own, inner, err)
		}
	}
	told := slices.IndexFunc(log, func(line string) bool {
		return strings.Contains(line, "--forbidden-cidrs") && strings.Contains(line, `"networks"="nodes"`)
	})
	if told < 0 || len(log) != 4 {
		t.Errorf("the log says %q", log)
	}
}
