// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

const (
	// caLifetime is longer than a run can take. The certificate is valid in one sandbox, and its key is deleted with the grant.
	caLifetime = 2 * 365 * 24 * time.Hour
	// caSkew is by how much the clocks of the sandbox's node and of the manager may differ.
	caSkew = time.Hour
)

// needsCA reports whether the proxy has to look into the grant's TLS connections: a credential is bound to a host.
func needsCA(g *grant.Grant) bool {
	return slices.ContainsFunc(g.Credentials, func(c grant.Credential) bool { return len(c.Hosts) > 0 })
}

// caOf returns the CA of the run: the existing one, because the sandbox trusts that one, or a new one. It is nil for a run that has no credential
// bound to a host, whether the credential is usable now or not.
func caOf(have *grant.Grant, run *v1alpha1.MotorRun, now time.Time) (*grant.CA, error) {
	hosts := boundHosts(run)
	switch {
	case len(hosts) == 0:
		return nil, nil
	case have != nil && isFresh(have.CA, now):
		return have.CA, nil
	}
	return newCA(run, hosts, now)
}

// boundHosts returns the names that the credentials of the run are bound to, without wildcards and ports.
func boundHosts(run *v1alpha1.MotorRun) []string {
	var hosts []string
	for _, c := range run.Spec.Credentials {
		for _, h := range c.Hosts {
			name, _, _ := strings.Cut(strings.TrimPrefix(string(h), "*."), ":")
			hosts = append(hosts, name)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// newCA makes a CA that can certify those names, names below them, and nothing else.
func newCA(run *v1alpha1.MotorRun, hosts []string, now time.Time) (*grant.CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of the run's CA: %w", err)
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{"Motor Cortex"}, CommonName: "Egress proxy of run " + string(run.UID)},
		NotBefore: now.Add(-caSkew), NotAfter: now.Add(caLifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:                    x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: hosts,
		ExcludedIPRanges: []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make the run's CA: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of the run's CA: %w", err)
	}
	return &grant.CA{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  secret.New(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}, nil
}

// isFresh reports whether a CA can be used now.
func isFresh(ca *grant.CA, now time.Time) bool {
	if ca == nil || ca.Key.IsEmpty() {
		return false
	}
	block, _ := pem.Decode(ca.Cert)
	if block == nil {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	return err == nil && now.After(cert.NotBefore) && now.Before(cert.NotAfter)
}
