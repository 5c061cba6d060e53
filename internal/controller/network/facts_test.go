// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
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

// pagedCluster shows its nodes and Services in pages of the size that is asked for. It fails from the page on that is named by failsAt.
type pagedCluster struct {
	oneService
	nodes    []corev1.Node
	services []corev1.Service
	failsAt  string
	// largest is the largest page that was asked for.
	largest int64
}

func (p *pagedCluster) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	p.largest = max(p.largest, o.Limit)
	if o.Continue != "" && o.Continue == p.failsAt {
		return apierrors.NewInternalError(errors.New("the page is lost"))
	}
	switch list := list.(type) {
	case *corev1.NodeList:
		list.Items, list.Continue = pageOf(p.nodes, o)
	case *corev1.ServiceList:
		list.Items, list.Continue = pageOf(p.services, o)
	default:
		return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	}
	return nil
}

func pageOf[T any](all []T, o client.ListOptions) (page []T, next string) {
	from, _ := strconv.Atoi(o.Continue)
	to := len(all)
	if o.Limit > 0 {
		to = min(to, from+int(o.Limit))
	}
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return all[from:to], next
}

// addressesFrom returns so many addresses, one after the other.
func addressesFrom(first string, count int) (all []string) {
	a := netip.MustParseAddr(first)
	for range count {
		all = append(all, a.String())
		a = a.Next()
	}
	return all
}

func exposed(namespace string, addresses ...string) corev1.Service {
	s := corev1.Service{Spec: corev1.ServiceSpec{ExternalIPs: addresses}}
	s.Namespace = namespace
	return s
}

// Networks on the second page and on the last one are forbidden like those on the first one.
func TestNetworksOfAllPages(t *testing.T) {
	t.Parallel()
	cluster := &pagedCluster{}
	for i, a := range addressesFrom("10.0.0.1", 2*nodesPage+1) {
		n := corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: a}}}}
		n.Spec.PodCIDRs = []string{fmt.Sprintf("10.%d.0.0/16", 100+i)}
		cluster.nodes = append(cluster.nodes, n)
	}
	for i, a := range addressesFrom("198.51.100.1", 2*servicesPage+1) {
		cluster.services = append(cluster.services, exposed(fmt.Sprint("ns-", i), a))
	}
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(string, string) {}, funcr.Options{}))
	own, inner, err := (&Facts{Live: cluster}).Cluster(ctx)
	if err != nil || len(own) != len(cluster.nodes) || len(inner) != len(cluster.nodes)+len(cluster.services) {
		t.Errorf("%d and %d networks, %v", len(own), len(inner), err)
	}
	if cluster.largest == 0 || cluster.largest > nodesPage {
		t.Errorf("a page of %d", cluster.largest)
	}
	for _, last := range []string{strconv.Itoa(nodesPage), strconv.Itoa(2 * nodesPage), strconv.Itoa(servicesPage), strconv.Itoa(2 * servicesPage)} {
		cluster.failsAt = last
		if _, _, err := (&Facts{Live: cluster}).Cluster(ctx); err == nil {
			t.Errorf("without the page from %s on a shorter list passes for the whole", last)
		}
	}
}

// The bounds are those of all pages together.
func TestAddressesOfServicesAreBoundedOverAllPages(t *testing.T) {
	t.Parallel()
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(string, string) {}, funcr.Options{}))
	external := func(services []corev1.Service) []netip.Prefix {
		t.Helper()
		_, inner, err := (&Facts{Live: &pagedCluster{services: services}, WithoutNodes: true}).Cluster(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return inner
	}
	var services []corev1.Service
	for _, a := range addressesFrom("2001:db8::1", 2*addressesOfNamespace) {
		services = append(services, exposed("greedy", a))
	}
	services = append(services, exposed("modest", "198.51.100.9"))
	inner := external(services)
	if len(inner) != addressesOfNamespace+1 || !slices.Contains(inner, netip.MustParsePrefix("198.51.100.9/32")) {
		t.Errorf("%d addresses of one namespace and another", len(inner))
	}
	services = nil
	for i := range 2 * addressesOfServices / addressesOfNamespace {
		services = append(services, exposed(fmt.Sprint("ns-", i), addressesFrom(fmt.Sprintf("2001:db8:%x::1", i+1), addressesOfNamespace)...))
	}
	if inner := external(services); len(inner) != addressesOfServices {
		t.Errorf("%d addresses of all namespaces", len(inner))
	}
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
	f := &Facts{Live: oneService{service}, WithoutNodes: true}
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
	f := &Facts{Live: oneService{service}, WithoutNodes: true}
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
