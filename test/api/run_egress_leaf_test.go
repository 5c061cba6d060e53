// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"
)

// leafOf is a certificate for a host as the egress proxy makes them.
func leafOf(t *testing.T, authority tls.Certificate, ca *x509.Certificate, host string, now time.Time) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour)}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, authority.PrivateKey)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	return leaf
}
