// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The accounts by which the cluster's own controllers make endpoints of Services.
var endpointControllers = []string{
	"system:serviceaccount:kube-system:endpointslice-controller", "system:serviceaccount:kube-system:endpoint-controller",
	"system:serviceaccount:kube-system:endpointslicemirroring-controller", "system:kube-controller-manager",
}

func serviceFor(namespace, name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 9000}}},
	}
}

// sliceFor is a slice with the address of a Pod; pod "" leaves out whose it is.
func sliceFor(namespace, name string, pods ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: ptr.To[int32](9000)}},
	}
	for i, pod := range pods {
		e := discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.244.0.%d", 10+i)}}
		if pod != "" {
			e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: pod}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

func endpointsFor(namespace, name string, ready, notReady []string) *corev1.Endpoints { //nolint:staticcheck // The API server serves it still, and proxies by it.
	addresses := func(pods []string) []corev1.EndpointAddress {
		var list []corev1.EndpointAddress
		for i, pod := range pods {
			list = append(list, corev1.EndpointAddress{IP: fmt.Sprintf("10.244.0.%d", 10+i), TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod}})
		}
		return list
	}
	return &corev1.Endpoints{ //nolint:staticcheck // As above.
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // As above.
			Addresses: addresses(ready), NotReadyAddresses: addresses(notReady), Ports: []corev1.EndpointPort{{Port: 9000}},
		}},
	}
}

func TestServicesThatLeadIntoSandboxes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	shut, open := newNamespace(ctx, t), newNamespace(ctx, t, v1alpha1.LabelSandboxExec, "allowed")
	eve := person(ctx, t, shut, "eve-services", rights{"create,update,patch services"})
	for name, tt := range map[string]struct {
		selector map[string]string
		refused  bool
	}{
		"component":            {map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}, true},
		"run":                  {map[string]string{v1alpha1.LabelRun: "some-run"}, true},
		"run and component":    {map[string]string{v1alpha1.LabelRun: "r", v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}, true},
		"pool":                 {map[string]string{v1alpha1.LabelPool: "warm"}, true},
		"pool and component":   {map[string]string{v1alpha1.LabelPool: "warm", v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}, true},
		"pool and own":         {map[string]string{v1alpha1.LabelPool: "warm", "app": "web"}, false},
		"where the node is":    {map[string]string{"topology.kubernetes.io/zone": "a"}, true},
		"former label":         {map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}, true},
		"none":                 {nil, false},
		"own Pods":             {map[string]string{"app": "web"}, false},
		"own Pods of a zone":   {map[string]string{"app": "web", "topology.kubernetes.io/zone": "a"}, false},
		"sandbox and own":      {map[string]string{"app": "web", v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}, false},
		"another component":    {map[string]string{v1alpha1.LabelComponent: "demo"}, false},
		"somebody else's Pods": {map[string]string{v1alpha1.LabelManagedBy: "Helm"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, headless := range []bool{false, true} {
				service := serviceFor(shut, "leak", tt.selector)
				if headless {
					service.Spec.ClusterIP = corev1.ClusterIPNone
				}
				err := eve.Create(ctx, service, client.DryRunAll)
				if tt.refused {
					wantRefused(t, err, "'motorcortex-services'", "no user gets into one")
				} else {
					must(t, err)
				}
			}
			must(t, admin.Create(ctx, serviceFor(open, "leak", tt.selector), client.DryRunAll))
		})
	}
	// A Service that leads elsewhere is not turned.
	service := serviceFor(shut, "turned", map[string]string{"app": "web"})
	must(t, eve.Create(ctx, service))
	wantRefused(t, eve.Patch(ctx, service.DeepCopy(), mergePatchOf(`{"spec":{"selector":{"app":null,"motorcortex.dev/component":"sandbox"}}}`)), "no user gets into one")
}

// One from before the policy can still be changed, by its owner and by the controllers that write its status and finalizers.
func TestServiceThatIsOlderThanThePolicy(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, v1alpha1.LabelSandboxExec, "allowed")
	old := serviceFor(ns, "old", map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox})
	must(t, admin.Create(ctx, old))
	must(t, admin.Patch(ctx, namespace(ns), mergePatchOf(`{"metadata":{"labels":{%q:null}}}`, v1alpha1.LabelSandboxExec)))
	must(t, wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return admin.Create(ctx, serviceFor(ns, "new", old.Spec.Selector), client.DryRunAll) != nil, nil
	}))
	must(t, admin.Patch(ctx, old.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"team":"a"}}}`)))
	wantRefused(t, admin.Patch(ctx, old.DeepCopy(), mergePatchOf(`{"spec":{"selector":{"motorcortex.dev/run":"r"}}}`)), "no user gets into one")
	must(t, admin.Patch(ctx, old.DeepCopy(), mergePatchOf(`{"spec":{"selector":{"app":"web"}}}`)))
}

func TestEndpointsThatNameSandboxes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	shut, open := newNamespace(ctx, t), newNamespace(ctx, t, v1alpha1.LabelSandboxExec, "allowed")
	// The controllers' own roles come from a cluster's controller manager, which is not here.
	for _, user := range append([]string{"eve-endpoints"}, endpointControllers...) {
		t.Run(user, func(t *testing.T) {
			c := person(ctx, t, shut, user, rights{"create,update,patch endpointslices", "create,update,patch endpoints"})
			for name, o := range map[string]client.Object{
				"slice":               sliceFor(shut, "e", "run-motor-sandbox"),
				"slice, among others": sliceFor(shut, "e", "web-1", "", "run-motor-sandbox"),
				"ready":               endpointsFor(shut, "e", []string{"web-1", "run-motor-sandbox"}, nil),
				"not ready":           endpointsFor(shut, "e", nil, []string{"run-motor-sandbox"}),
			} {
				t.Run(name, func(t *testing.T) {
					wantRefused(t, c.Create(ctx, o, client.DryRunAll), "'motorcortex-endpoints'", "no user gets into one")
				})
			}
			for _, o := range []client.Object{
				sliceFor(shut, "e", "web-1", "web-2", ""), sliceFor(shut, "e"),
				endpointsFor(shut, "e", []string{"web-1"}, []string{"web-2"}),
			} {
				must(t, c.Create(ctx, o, client.DryRunAll))
			}
		})
	}
	must(t, admin.Create(ctx, sliceFor(open, "e", "run-motor-sandbox"), client.DryRunAll))

	slice := sliceFor(shut, "later", "web-1")
	must(t, admin.Create(ctx, slice))
	slice.Endpoints = append(slice.Endpoints, sliceFor(shut, "", "run-motor-sandbox").Endpoints...)
	slice.Endpoints[1].Addresses = []string{"10.244.0.99"}
	wantRefused(t, admin.Update(ctx, slice), "no user gets into one")
}

// The largest slice that the API server takes is judged within what an expression may cost.
func TestLargestSliceIsJudged(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	pods := make([]string, 1000)
	for i := range pods {
		pods[i] = fmt.Sprintf("web-%d", i)
	}
	slice := func() *discoveryv1.EndpointSlice {
		s := sliceFor(ns, "large", pods...)
		for i := range s.Endpoints {
			s.Endpoints[i].Addresses = []string{fmt.Sprintf("10.244.%d.%d", i/250, 1+i%250)}
		}
		return s
	}
	must(t, admin.Create(ctx, slice(), client.DryRunAll))
	pods[999] = "run-motor-sandbox"
	wantRefused(t, admin.Create(ctx, slice(), client.DryRunAll), "no user gets into one")
}
