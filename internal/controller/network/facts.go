// SPDX-License-Identifier: Apache-2.0

// Package network finds out which networks are the cluster's own, and publishes them for the egress proxy.
package network

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/address"
)

// Services are listed for the addresses of load balancers: the cluster leads from those to its Pods without leaving it.
// +kubebuilder:rbac:groups="",resources=services,verbs=list
// +kubebuilder:rbac:groups="",resources=services,resourceNames=kubernetes,verbs=get
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,resourceNames=kubernetes,verbs=get
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list

const (
	// FactsName is the ConfigMap from which the egress proxy reads the cluster's own networks. The proxy is not ready without it.
	FactsName = "motorcortex-egress-network"
	// FactsKey has them as a JSON list of prefixes.
	FactsKey = "cidrs"

	// factsEvery is the interval after which the egress proxy learns of a new node.
	factsEvery = 30 * time.Second
	// nodesPage and servicesPage bound the number of whole nodes and Services in memory. A client that may create Services can make each as large as
	// the store allows, 1.5 MiB.
	nodesPage    = 50
	servicesPage = 16
	// addressesOfNamespace and addressesOfServices bound the assigned addresses of Services that count, of one namespace and of all. A ConfigMap that
	// is too large could not be written, so the proxy would not learn of new nodes.
	addressesOfNamespace = 256
	addressesOfServices  = 4096
	// apiServerName is the Service of the API server in the namespace default, and its EndpointSlice.
	apiServerName = "kubernetes"
)

// Facts updates the ConfigMap of that name.
type Facts struct {
	client.Client
	// Live reads past the cache, which does not hold the nodes' addresses.
	Live client.Reader
	// Namespace is where the ConfigMap is.
	Namespace string
	// Forbidden are further networks that no client may reach through the egress proxy.
	Forbidden []netip.Prefix
	// WithoutNodes is true if the manager may not read nodes.
	WithoutNodes bool

	unread sync.Map
}

// Start updates the facts until the manager ends, in the leader only.
func (f *Facts) Start(ctx context.Context) error {
	pass.Every(ctx, factsEvery, func() {
		if err := f.Refresh(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "tell the egress proxy of the cluster's networks")
		}
	})
	return nil
}

// Refresh updates the ConfigMap. If a read failed for another reason than a missing right, the old content stays: a list that is too short gives
// sandboxes access where they must not have it.
func (f *Facts) Refresh(ctx context.Context) error {
	prefixes, err := f.prefixes(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(prefixes)
	if err != nil {
		return fmt.Errorf("encode the cluster's networks: %w", err)
	}
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: FactsName, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}},
		Data:       map[string]string{FactsKey: string(text)},
	}
	var have corev1.ConfigMap
	err = f.Live.Get(ctx, client.ObjectKeyFromObject(want), &have)
	switch {
	case apierrors.IsNotFound(err):
		err = f.Create(ctx, want)
	case err == nil && have.Data[FactsKey] != string(text):
		have.Data = want.Data
		err = f.Update(ctx, &have)
	}
	if err != nil {
		return fmt.Errorf("write the ConfigMap %s: %w", FactsName, err)
	}
	return nil
}

// prefixes returns the networks, sorted and without duplicates.
func (f *Facts) prefixes(ctx context.Context) ([]netip.Prefix, error) {
	list := networks{}
	for _, p := range f.Forbidden {
		list.prefix(p)
	}
	err := f.read(ctx, []factSource{
		{"nodes", list, f.nodes(list)}, {"the API server's Service", list, f.service},
		{"the API server's endpoints", list, f.endpoints}, {"ServiceCIDRs", list, f.serviceCIDRs}, {"the external addresses of Services", list, f.external},
	})
	return list.sorted(), err
}

// Cluster returns two lists of networks. own has the addresses of the cluster's nodes and of its API server, and the forbidden networks. inner has
// the networks of Pods and Services, with the addresses at which Services are reached from outside.
func (f *Facts) Cluster(ctx context.Context) (own, inner []netip.Prefix, err error) {
	ownList, innerList := networks{}, networks{}
	for _, p := range f.Forbidden {
		ownList.prefix(p)
	}
	err = f.read(ctx, []factSource{
		{"nodes", ownList, f.nodes(innerList)}, {"the API server's Service", ownList, f.service},
		{"the API server's endpoints", ownList, f.endpoints}, {"ServiceCIDRs", innerList, f.serviceCIDRs},
		{"the external addresses of Services", innerList, f.external},
	})
	return ownList.sorted(), innerList.sorted(), err
}

// factSource is where networks are read, and the list that they are added to.
type factSource struct {
	name string
	list networks
	read func(context.Context, networks) error
}

// read reads sources. One that the manager may not read, or that the cluster does not have, is left out.
func (f *Facts) read(ctx context.Context, sources []factSource) error {
	for _, source := range sources {
		err := source.read(ctx, source.list)
		switch {
		case err == nil:
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
			f.tell(ctx, source.name, err.Error())
		default:
			return fmt.Errorf("read %s: %w", source.name, err)
		}
	}
	return nil
}

// tell logs once that networks of the cluster are not known: the egress proxy and the manager do not refuse them.
func (f *Facts) tell(ctx context.Context, networks, because string) {
	if _, told := f.unread.LoadOrStore(networks, true); !told {
		ctrl.LoggerFrom(ctx).Info("these networks of the cluster are not known, and connections with them are not refused: name them in --forbidden-cidrs",
			"networks", networks, "because", because)
	}
}

// nodes reads the addresses of nodes, and the networks of the Pods on them into a list of their own.
func (f *Facts) nodes(pods networks) func(context.Context, networks) error {
	return func(ctx context.Context, list networks) error {
		if f.WithoutNodes {
			f.tell(ctx, "nodes", "the manager is installed for named namespaces and may not read nodes")
			return nil
		}
		for next := ""; ; {
			var page corev1.NodeList
			if err := f.Live.List(ctx, &page, client.Limit(nodesPage), client.Continue(next)); err != nil {
				return err
			}
			for i := range page.Items {
				n := &page.Items[i]
				for _, a := range n.Status.Addresses {
					list.address(a.Address)
				}
				pods.cidrs(append(slices.Clone(n.Spec.PodCIDRs), n.Spec.PodCIDR)...)
			}
			if next = page.Continue; next == "" {
				return nil
			}
		}
	}
}

func (f *Facts) service(ctx context.Context, list networks) error {
	var s corev1.Service
	if err := f.Live.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: apiServerName}, &s); err != nil {
		return err
	}
	for _, ip := range append(slices.Clone(s.Spec.ClusterIPs), s.Spec.ClusterIP) {
		list.address(ip)
	}
	return nil
}

func (f *Facts) endpoints(ctx context.Context, list networks) error {
	var s discoveryv1.EndpointSlice
	if err := f.Live.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: apiServerName}, &s); err != nil {
		return err
	}
	for _, e := range s.Endpoints {
		for _, ip := range e.Addresses {
			list.address(ip)
		}
	}
	return nil
}

func (f *Facts) serviceCIDRs(ctx context.Context, list networks) error {
	var all networkingv1.ServiceCIDRList
	if err := f.Live.List(ctx, &all); err != nil {
		return err
	}
	for i := range all.Items {
		list.cidrs(all.Items[i].Spec.CIDRs...)
	}
	return nil
}

// external reads the addresses at which Services are reached from outside. From within the cluster they lead to the same Pods. An address that a
// Service requests leads nowhere until its status has it: one Service alone must not close an address for all sandboxes.
func (f *Facts) external(ctx context.Context, list networks) error {
	of, all := map[string]int{}, 0
	count := func(namespace, ip string) {
		before := len(list)
		if of[namespace] < addressesOfNamespace && all < addressesOfServices {
			list.address(ip)
		}
		of[namespace] += len(list) - before
		all += len(list) - before
	}
	for next := ""; ; {
		var page corev1.ServiceList
		if err := f.Live.List(ctx, &page, client.Limit(servicesPage), client.Continue(next)); err != nil {
			return err
		}
		for i := range page.Items {
			s := &page.Items[i]
			for _, ingress := range s.Status.LoadBalancer.Ingress {
				count(s.Namespace, ingress.IP)
			}
			for _, ip := range s.Spec.ExternalIPs {
				count(s.Namespace, ip)
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// networks is a set of prefixes. A value that is no address, such as the host name of a node, is left out.
type networks map[netip.Prefix]bool

func (n networks) address(text string) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap().WithZone("")
		n[netip.PrefixFrom(a, a.BitLen())] = true
	}
}

func (n networks) cidrs(texts ...string) {
	for _, t := range texts {
		if p, err := netip.ParsePrefix(t); err == nil {
			n.prefix(p)
		}
	}
}

func (n networks) prefix(p netip.Prefix) { n[address.Unmap(p).Masked()] = true }

func (n networks) sorted() []netip.Prefix {
	list := make([]netip.Prefix, 0, len(n))
	for p := range n {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	return list
}
