// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/test/worst"
)

// TestWorst has the certificates that a host can show take no more than the proxy has for each of its connections.
func TestWorst(t *testing.T) {
	host, err := allowlist.ParseHost("example.org")
	if err != nil {
		t.Fatal(err)
	}
	root, key := hostileAuthority(t, nil)
	roots := x509.NewCertPool()
	roots.AddCert(root)
	for name, chain := range hostileChains(t, root, key) {
		worst.Within(t, name, worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 48 << 20, Time: 30 * time.Second}, func() {
			ours, theirs := net.Pipe()
			go func() {
				_ = tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{chain}}).HandshakeContext(t.Context())
				_ = theirs.Close()
			}()
			dial := func(context.Context) (net.Conn, error) { return ours, nil }
			// Some of them are certificates of the host, and taken.
			conn, err := New(Config{RootCAs: roots}).transport(t.Context(), host, dial).DialTLSContext(t.Context(), "tcp", "")
			if err == nil {
				_ = conn.Close()
			}
		})
	}
}

// hostileChains are certificates whose names are those of the host. TLS carries 256 KiB of them.
func hostileChains(t *testing.T, root *x509.Certificate, rootKey *ecdsa.PrivateKey) map[string]tls.Certificate {
	t.Helper()
	const most = 250 << 10
	names := []string{"example.org"}
	for i := range most / 40 {
		names = append(names, fmt.Sprintf("name-%05d.of-a-host.example.com", i))
	}
	var extensions []pkix.Extension
	for i := range most / 30 {
		extensions = append(extensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 99999, i}, Value: []byte{5, 0}})
	}
	// Each of these may have signed each other one, by their names.
	var ring [][]byte
	impostor, leafKey := hostileAuthority(t, nil)
	for range most / 600 {
		a, _ := hostileAuthority(t, nil)
		ring = append(ring, a.Raw)
	}
	narrow, narrowKey := hostileAuthority(t, func(c *x509.Certificate) {
		for i := range 2500 {
			c.PermittedDNSDomains = append(c.PermittedDNSDomains, fmt.Sprintf("p%d.example.com", i))
		}
	}, authorityOf{root, rootKey})
	leaf := func(by authorityOf, names []string, extensions []pkix.Extension) []byte {
		c := &x509.Certificate{
			SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "a host"}, DNSNames: names, ExtraExtensions: extensions,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		}
		der, err := x509.CreateCertificate(rand.Reader, c, by.cert, leafKey.Public(), by.key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	trusted := authorityOf{root, rootKey}
	chains := map[string][][]byte{
		"many names":               {leaf(trusted, names, nil)},
		"a long name":              {leaf(trusted, []string{"example.org", strings.Repeat("a.", most/2) + "a"}, nil)},
		"many extensions":          {leaf(trusted, []string{"example.org"}, extensions)},
		"many signers":             append([][]byte{leaf(authorityOf{impostor, leafKey}, []string{"example.org"}, nil)}, ring...),
		"many names and limits":    {leaf(authorityOf{narrow, narrowKey}, names[:2500], nil), narrow.Raw},
		"a certificate that isn't": {leaf(trusted, []string{"example.org"}, nil), []byte(strings.Repeat("\x30\x80", most/2))},
	}
	pairs := map[string]tls.Certificate{}
	for name, chain := range chains {
		pairs[name] = tls.Certificate{Certificate: chain, PrivateKey: leafKey}
	}
	return pairs
}

type authorityOf struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// hostileAuthority makes an authority that has the name of all others here. It signs itself, unless another one does.
func hostileAuthority(t *testing.T, change func(*x509.Certificate), by ...authorityOf) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	signer := authorityOf{template, key}
	if len(by) > 0 {
		signer = by[0]
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
