// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strconv"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

func testCA(t *testing.T) *grant.CA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(1000 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &grant.CA{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: secret.New(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})),
	}
}

func TestLeavesAreKept(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := newMinter(func() time.Time { return now })
	a, b := &grant.Grant{RunUID: "a", CA: testCA(t)}, &grant.Grant{RunUID: "b", CA: testCA(t)}
	get := func(g *grant.Grant, host string) []byte {
		t.Helper()
		cert, err := m.leaf(g, host)
		if err != nil {
			t.Fatal(err)
		}
		if cert.Leaf.VerifyHostname(host) != nil || len(cert.Leaf.DNSNames) != 1 || !now.Before(cert.Leaf.NotAfter) {
			t.Errorf("the certificate for %s is for %v until %v", host, cert.Leaf.DNSNames, cert.Leaf.NotAfter)
		}
		return cert.Certificate[0]
	}
	first := get(a, "x.example.org")
	if !bytes.Equal(first, get(a, "x.example.org")) {
		t.Error("a certificate was made twice")
	}
	if bytes.Equal(first, get(a, "y.example.org")) || bytes.Equal(first, get(b, "x.example.org")) {
		t.Error("a certificate serves two hosts or two runs")
	}
	other := *a
	other.CA = b.CA
	if bytes.Equal(first, get(&other, "x.example.org")) {
		t.Error("a certificate outlives the authority that signed it")
	}
	now = now.Add(leafLifetime - leafAge - leafLeft)
	if bytes.Equal(first, get(a, "x.example.org")) {
		t.Error("a certificate is used that is about to expire")
	}
	for i := range maxLeaves + 10 {
		get(a, "h"+strconv.Itoa(i)+".example.org")
	}
	if len(m.leaves) != maxLeaves || m.order.Len() != maxLeaves {
		t.Errorf("%d certificates are kept", len(m.leaves))
	}
}

func TestLeafNeedsAnAuthority(t *testing.T) {
	t.Parallel()
	m := newMinter(time.Now)
	mixed := testCA(t)
	mixed.Key = testCA(t).Key
	for name, ca := range map[string]*grant.CA{"none": nil, "mixed": mixed, "empty": {}} {
		if cert, err := m.leaf(&grant.Grant{RunUID: "a", CA: ca}, "x.example.org"); err == nil {
			t.Errorf("%s: got %v", name, cert.Leaf.Subject)
		}
	}
}
