// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// proxyAddress returns the address of the egress proxy for sandboxes, as of that long ago at most, "" if there is none.
func (g *Granter) proxyAddress(ctx context.Context, age time.Duration) (string, error) {
	var service corev1.Service
	live := g.Live
	if g.Recent != nil {
		live = g.Recent.Within(age)
	}
	err := live.Get(ctx, client.ObjectKey{Namespace: g.Sandbox.Namespace, Name: g.Service}, &service)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get the Service of the egress proxy: %w", err)
	}
	ip, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil {
		// A headless one has none that a sandbox, which resolves no names, could go to.
		return "", nil //nolint:nilerr // "None" and "" are no addresses
	}
	return netip.AddrPortFrom(ip, grant.Port).String(), nil
}

// proxy returns the proxy's address, as of readAgain ago at most. If there is none it blocks the run, but does not stop its engine if the run has
// one: work that needs no way out goes on.
func (g *Granter) proxy(ctx context.Context, s *pass.Run, st *memory) (string, error) {
	if st.proxy == "" || s.Now.Sub(st.proxyAt) >= readAgain {
		address, err := g.proxyAddress(ctx, readAgain)
		if err != nil {
			return "", err
		}
		st.proxy, st.proxyAt = address, s.Now
	}
	if st.proxy == "" {
		s.Block(v1alpha1.ConditionEgressReady, v1alpha1.ReasonEgressUnavailable, g.noProxyMessage(), true)
		s.Wake(s.Now.Add(s.Pause()))
	}
	return st.proxy, nil
}

// noProxyMessage names what is missing if there is no egress proxy.
func (g *Granter) noProxyMessage() string {
	return fmt.Sprintf("The run asks for domains, and there is no egress proxy: the Service %s in namespace %s does not exist or has no address of its own. "+
		"Install the egress proxy.", g.Service, g.Sandbox.Namespace)
}
