// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// egressKey derives the key for the tokens and handles of sandboxes. All replicas derive the same one, and the manager's own key cannot be derived
// from it.
func egressKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, der, nil, "motorcortex egress", sha256.Size)
}

// forbiddenTargets returns addresses with a known listener that no sandbox may reach. Targets that depend on the sandbox's node are added for each
// sandbox.
func forbiddenTargets(ctx context.Context, reader client.Reader, o options, log *slog.Logger) []toolapi.ProbeTarget {
	targets := []toolapi.ProbeTarget{
		{Name: "the cloud's metadata address", Network: "tcp", Address: "169.254.169.254:80"},
		{Name: "the cloud's metadata address (IPv6)", Network: "tcp", Address: "[fd00:ec2::254]:80"},
	}
	if host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
		ip, err := netip.ParseAddr(host)
		if ip = ip.Unmap(); err == nil {
			host = ip.String()
		}
		targets = append(targets, toolapi.ProbeTarget{Name: "the API server", Network: "tcp", Address: net.JoinHostPort(host, port)})
		if ip.Is4() {
			mapped := netip.AddrFrom16(ip.As16()).String()
			targets = append(targets, toolapi.ProbeTarget{Name: "the API server (IPv4 in IPv6)", Network: "tcp", Address: net.JoinHostPort(mapped, port)})
		}
	}
	for i, address := range apiServers(ctx, reader, log) {
		targets = append(targets, toolapi.ProbeTarget{Name: "the API server's own address " + strconv.Itoa(i+1), Network: "tcp", Address: address})
	}
	// The canary: a Pod of another namespace that certainly listens, because it is this one.
	if _, port, err := net.SplitHostPort(o.healthAddress); err == nil && o.podIP != "" {
		targets = append(targets, toolapi.ProbeTarget{Name: toolapi.ProbeManager, Network: "tcp", Address: net.JoinHostPort(o.podIP, port)})
	}
	for _, server := range nameServers("/etc/resolv.conf") {
		address := net.JoinHostPort(server, "53")
		targets = append(targets,
			toolapi.ProbeTarget{Name: "the cluster's DNS (udp)", Network: "udp", Address: address},
			toolapi.ProbeTarget{Name: "the cluster's DNS (tcp)", Network: "tcp", Address: address})
	}
	for _, address := range o.outsideAddresses {
		targets = append(targets, toolapi.ProbeTarget{Name: "the outside", Network: "tcp", Address: address.String()})
	}
	return targets
}

// maxAPIServers bounds the addresses that each sandbox is tried against.
const maxAPIServers = 5

// apiServers returns the addresses behind the API server's Service. Without the right to read them, only the Service itself can be tried.
func apiServers(ctx context.Context, reader client.Reader, log *slog.Logger) []string {
	var slice discoveryv1.EndpointSlice
	if err := reader.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, &slice); err != nil {
		log.Warn("sandboxes are tried against the API server's Service only", "error", err)
		return nil
	}
	var addresses []string
	for _, p := range slice.Ports {
		if p.Port == nil || p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP {
			continue
		}
		for _, e := range slice.Endpoints {
			for _, a := range e.Addresses {
				addresses = append(addresses, net.JoinHostPort(a, strconv.Itoa(int(*p.Port))))
			}
		}
	}
	return addresses[:min(len(addresses), maxAPIServers)]
}

// nameServers reads the name servers of this Pod, which are the cluster's.
func nameServers(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var servers []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "nameserver" && net.ParseIP(fields[1]) != nil {
			servers = append(servers, fields[1])
		}
	}
	return servers
}

// parseEach reads a flag that is a list of values separated by commas.
func parseEach[T any](name, list string, parse func(string) (T, error)) ([]T, error) {
	var parsed []T
	for _, item := range splitList(list) {
		v, err := parse(item)
		if err != nil {
			return nil, fmt.Errorf("--%s: %q: %w", name, item, err)
		}
		parsed = append(parsed, v)
	}
	return parsed, nil
}

func splitList(list string) []string {
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
