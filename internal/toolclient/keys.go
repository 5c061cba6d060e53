// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"
)

// GenerateKey makes a key pair for a manager: ECDSA on P-256.
func GenerateKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the manager's key: %w", err)
	}
	return key, nil
}

// ClientCertificate makes the certificate with which the manager proves that it has the key. It is signed by the key
// itself and does not expire: tool servers compare only the key, so it can be made anew at every start.
func ClientCertificate(key *ecdsa.PrivateKey) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "motor-manager"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: no expiry.
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the manager's certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// PublicKeyPin returns the public key in the form of MOTOR_MANAGER_KEY of a sandbox: base64 of the DER encoded
// SubjectPublicKeyInfo. It panics for a key on a curve that X.509 does not know; GenerateKey makes none.
func PublicKeyPin(key *ecdsa.PrivateKey) string {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic(fmt.Sprintf("toolclient: encode a public key: %v", err))
	}
	return base64.StdEncoding.EncodeToString(der)
}

// pinOf names a server's key: "sha256:" and the hash of its DER SubjectPublicKeyInfo in hex.
func pinOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}
