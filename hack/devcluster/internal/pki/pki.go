// SPDX-License-Identifier: Apache-2.0

// Package pki issues the certificates of one cluster. Each fresh cluster gets a new authority, so a
// kubeconfig of an earlier one is refused instead of reaching the wrong cluster.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	validity = 365 * 24 * time.Hour
	// backdate tolerates a clock that is set back a little, as virtual machines do when they resume.
	backdate = time.Hour
)

// Pair is a certificate with its key, or a key alone, in PEM.
type Pair struct{ Cert, Key []byte }

// Authority signs certificates.
type Authority struct {
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	now  time.Time
}

// Request says what a certificate is for: a name and groups as Kubernetes reads them from the
// subject, and for servers the names and addresses that clients reach them by.
type Request struct {
	Name   string
	Groups []string
	Names  []string
	IPs    []string
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := template(Request{Name: name}, now)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pair, err := encode(der, key)
	return &Authority{Pair: pair, cert: cert, key: key, now: now}, err
}

// Issue makes a certificate that serves as client and, when it has names or addresses, as server.
func (a *Authority) Issue(request Request) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	template, err := template(request, a.now)
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(request.Names)+len(request.IPs) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate of %s: %w", request.Name, err)
	}
	return encode(der, key)
}

// NewKey makes a key pair without a certificate: private key in Key, public key in Cert.
func NewKey() (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, err
	}
	pair, err := encode(nil, key)
	pair.Cert = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return pair, err
}

func template(request Request, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	cert := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: request.Name, Organization: request.Groups},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(validity),
		DNSNames:     request.Names,
	}
	for _, text := range request.IPs {
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, fmt.Errorf("certificate of %s: %q is no address", request.Name, text)
		}
		cert.IPAddresses = append(cert.IPAddresses, ip)
	}
	return cert, nil
}

func encode(der []byte, key *ecdsa.PrivateKey) (Pair, error) {
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	pair := Pair{Key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})}
	if der != nil {
		pair.Cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	return pair, nil
}
