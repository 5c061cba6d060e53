// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errPlain is why a request is not sent.
var errPlain = errors.New("a request without TLS is sent to a Service of the cluster or to the same host only")

// mayBePlain reports whether a host is reached without TLS: one of the cluster's Services, or the host itself.
func mayBePlain(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".svc.cluster.local")
}

// guarded sends no request without TLS to an unexpected host, also after a redirect.
type guarded struct {
	next http.RoundTripper
	// plain lets requests without TLS through, to the hosts that may have them.
	plain bool
}

func (g guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && (!g.plain || !mayBePlain(req.URL.Hostname())) {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errPlain
	}
	return g.next.RoundTrip(req)
}

// http is a client that requires TLS, unless plain is true: then its first request is one without TLS.
func (r *Reader) http(plain bool) *http.Client {
	c := http.Client{}
	if r.HTTP != nil {
		c = *r.HTTP
	}
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	c.Transport = guarded{next: next, plain: plain}
	return &c
}

// hostname of HOST or HOST:PORT.
func hostname(host string) string { return (&url.URL{Host: host}).Hostname() }

// credential reads the credential of the registry from the pull secret. No other host receives it. A problem with the secret is retried:
// secrets are not watched.
func (r *Reader) credential(ctx context.Context, namespace, secret string, ref registry.Reference) (auth.CredentialFunc, error) {
	if secret == "" {
		return nil, nil
	}
	var s corev1.Secret
	switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secret}, &s); {
	case apierrors.IsNotFound(err):
		return nil, unavailable("There is no Secret %s.", secret)
	case err != nil:
		return nil, fmt.Errorf("get the Secret %s: %w", secret, err)
	case s.Type != corev1.SecretTypeDockerConfigJson:
		return nil, unavailable("The Secret %s is not of type %s.", secret, corev1.SecretTypeDockerConfigJson)
	}
	// The error is omitted: it can have a part of the secret.
	store, err := credentials.NewMemoryStoreFromDockerConfig(s.Data[corev1.DockerConfigJsonKey])
	if err != nil {
		return nil, unavailable("The Secret %s has no configuration for registries that can be read.", secret)
	}
	for _, name := range names(ref) {
		if c, err := store.Get(ctx, name); err == nil && c != auth.EmptyCredential {
			return auth.StaticCredential(ref.Host(), c), nil
		}
	}
	return nil, unavailable("The Secret %s has nothing for the registry %s.", secret, ref.Registry)
}

// names by which a pull secret may know the registry.
func names(ref registry.Reference) []string {
	if ref.Host() == "registry-1.docker.io" {
		return []string{"index.docker.io", "docker.io", ref.Host()}
	}
	return []string{ref.Host()}
}
