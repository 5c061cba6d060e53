// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/controller/network"
	"motorcortex.dev/motorcortex/internal/motorloop/openai"
	"motorcortex.dev/motorcortex/internal/outbound"
	"motorcortex.dev/motorcortex/internal/signal/mailer"
)

const (
	// inCluster stands for the networks of Pods and Services in a flag.
	inCluster = "cluster"
	// sourceHeaderTimeout is the time within which a registry must begin to answer. One that hangs delays others of its namespace.
	sourceHeaderTimeout = 10 * time.Second
	// sinkHeaderTimeout is the time within which a sink of signals must begin to answer.
	sinkHeaderTimeout = 10 * time.Second
)

// reach is where hosts may be that a namespace names.
type reach struct {
	cluster  bool
	networks []netip.Prefix
}

// parseReach parses a flag with a list of networks, in which cluster stands for Pods and Services.
func parseReach(name, list string) (reach, error) {
	items := splitList(list)
	cluster := slices.Contains(items, inCluster)
	items = slices.DeleteFunc(items, func(item string) bool { return item == inCluster })
	networks, err := parseEach(name, strings.Join(items, ","), netip.ParsePrefix)
	return reach{cluster, networks}, err
}

// outside has the HTTP clients for addresses that a namespace configures.
type outside struct {
	models, sources, flux http.RoundTripper
	// sinks returns a transport of its own for each sink of signals, so that each can have its own authorities.
	sinks func() *http.Transport
	// mailServers connects with mail servers, which are judged as sinks are.
	mailServers mailer.Dial
	// inside reports whether a sink's address is of the cluster or another private network.
	inside func(netip.Addr) bool
}

func newOutside(o options, reader client.Reader) outside {
	facts := &network.Facts{Live: reader, Forbidden: o.forbiddenPrefixes, WithoutNodes: len(o.namespaces) > 0}
	networks := func(ctx context.Context) (outbound.Networks, error) {
		own, inner, err := facts.Cluster(ctx)
		return outbound.Networks{Own: own, Inner: inner}, err
	}
	guard := func(r reach, cluster bool, headers time.Duration) *outbound.Guard {
		return &outbound.Guard{Cluster: cluster, Allowed: r.networks, Networks: networks, HeaderTimeout: headers}
	}
	sinks := guard(o.sinks, o.sinks.cluster, sinkHeaderTimeout)
	return outside{
		models:  guard(o.models, o.models.cluster, 0).Guarded(openai.Transport()),
		sources: guard(o.sources, o.sources.cluster, sourceHeaderTimeout).Transport(),
		flux:    guard(o.sources, true, sourceHeaderTimeout).Transport(),
		sinks:   sinks.Transport,
		inside:  sinks.Inside,

		mailServers: sinks.DialContext,
	}
}

// modelClient returns the HTTP client for a model. The installation's own endpoint may have any address.
func (o outside) modelClient(baseURL, builtIn string) *http.Client {
	if baseURL == builtIn {
		return nil
	}
	return &http.Client{Transport: o.models}
}
